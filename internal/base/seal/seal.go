// Package seal signs texts, so that a record that was changed later
// without the key is found out.
//
// # The bytes
//
// A sealed text is a signed note of golang.org/x/mod/sumdb/note with one
// signature:
//
//	<text, ending in a newline>
//	<an empty line>
//	— ramet <base64 of key hash and signature>
//
// The dash is U+2014. The base64 (standard, padded) holds 4 bytes of key hash
// and 64 bytes of Ed25519 signature over the text with its last newline and
// without the empty line. The key hash is the first 4 bytes, big-endian, of
// SHA-256("ramet\n" || 0x01 || public key).
//
// The text is UTF-8 without control characters other than newline, and ends in
// a newline. A sealed text is at most MaxSealed bytes: signing and opening
// refuse more, so that hashing ends; seal the hash of
// what is larger.
//
// The keys are texts too:
//
//	PRIVATE+KEY+ramet+<key hash, 8 hex digits>+<base64 of 0x01 || seed>
//	ramet+<key hash, 8 hex digits>+<base64 of 0x01 || public key>
//
// The first is the key file's only line, the second is the verifier key, which
// may be shown to anybody.
//
// # Evolution
//
// These bytes do not change. Another algorithm gets another first byte in the
// keys and so another key hash; lines of unknown keys beside a good signature
// are ignored, so a later ramet can sign twice.
package seal

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"ramet/internal/base/fault"
)

// MaxSealed is the largest sealed text, in bytes, signature included.
const MaxSealed = 1_000_000

// OtherKeyError is in the chain of Open's error when the sealed text is well
// formed but signed by other keys than the one asked for: perhaps nothing was
// changed, and only the verifier key is the wrong one.
type OtherKeyError struct {
	Want string   // name+hash of the key asked for
	Got  []string // name+hash of the keys that claim to have signed
}

func (e *OtherKeyError) Error() string {
	return fmt.Sprintf("signed by another key: %s, not %s", strings.Join(e.Got, ", "), e.Want)
}

// Sign seals a text. A text that could not be opened again is fault.InvalidText.
func (k *Key) Sign(text string) ([]byte, error) {
	if err := checkSealable(text); err != nil {
		return nil, err
	}
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return nil, fault.New(fault.Failed, "sign text: %w", err)
	}
	if len(signed) > MaxSealed {
		return nil, tooLong(fault.InvalidText, "sign text", len(signed))
	}
	return signed, nil
}

// checkSealable holds the rules of note.Open, which note.Sign does not check.
func checkSealable(text string) error {
	switch {
	case !strings.HasSuffix(text, "\n"):
		return fault.New(fault.InvalidText, "sign text: it does not end in a newline")
	case !utf8.ValidString(text):
		return fault.New(fault.InvalidText, "sign text: it is not UTF-8")
	}
	for i := range len(text) {
		if c := text[i]; c < 0x20 && c != '\n' {
			return fault.New(fault.InvalidText, "sign text: control character %#02x at byte %d", c, i)
		}
	}
	return nil
}

// Open checks a sealed text against a verifier key and returns the text.
// Everything that does not fit is fault.HistoryDamaged; errors.As finds an
// OtherKeyError when it was signed by another key. A verifier key that is none
// is fault.InvalidConfig.
func Open(signed []byte, verifierKey string) (text string, err error) {
	const verb = "check signature"
	verifier, err := note.NewVerifier(verifierKey)
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "%s: %q is not a verifier key: %w", verb, verifierKey, err).
			WithHint("it looks like ramet+01234567+AbCd…")
	}
	if len(signed) > MaxSealed {
		return "", tooLong(fault.HistoryDamaged, verb, len(signed))
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		other := &OtherKeyError{Want: keyID(verifier.Name(), verifier.KeyHash())}
		for _, s := range unverified.Note.UnverifiedSigs {
			other.Got = append(other.Got, keyID(s.Name, s.Hash))
		}
		return "", fault.New(fault.HistoryDamaged, "%s: %w", verb, other).
			WithHint("check with the verifier key of the one who signed")
	}
	if err != nil {
		return "", fault.New(fault.HistoryDamaged, "%s: the text or its signature was changed: %w", verb, err)
	}
	return n.Text, nil
}

// keyID quotes a name that is not a plain word, since it comes from outside.
func keyID(name string, hash uint32) string {
	if quoted := fmt.Sprintf("%q", name); quoted != `"`+name+`"` {
		name = quoted
	}
	return fmt.Sprintf("%s+%08x", name, hash)
}

func tooLong(code fault.Code, verb string, n int) error {
	return fault.New(code, "%s: %d bytes are more than the %d allowed", verb, n, MaxSealed)
}
