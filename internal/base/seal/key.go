package seal

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// keyName is the name in every key and signature of ramet.
const keyName = "ramet"

// Key signs. It is safe for concurrent use, and it never prints itself.
type Key struct {
	signer   note.Signer
	verifier string
}

// LoadKey reads the signing key at path, or makes it (mode 0600, its folder
// 0700) when there is none. Processes that race to make it end with the same
// key. A key file that others can read, that is no plain file or that holds
// something else is fault.InvalidConfig.
func LoadKey(path string) (*Key, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	private, _, err := note.GenerateKey(rand.Reader, keyName)
	if err != nil {
		return nil, fault.New(fault.Failed, "make signing key: %w", err)
	}
	err = durable.CreateFile(path, []byte(private+"\n"), 0o600)
	if err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	// Read it back in both cases: on a conflict it is the other one's key.
	return readKey(path)
}

// Verifier returns the public key: ramet+hash+base64.
func (k *Key) Verifier() string { return k.verifier }

// String shows the public key, so that a Key in a log gives nothing away.
func (k *Key) String() string { return k.verifier }

// GoString does what String does for %#v.
func (k *Key) GoString() string { return k.verifier }

func readKey(path string) (*Key, error) {
	const verb = "read signing key"
	text, err := durable.ReadPlain(path, 1024, func(info fs.FileInfo) error {
		if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			return fault.New(fault.InvalidConfig, "others can read %s (mode %04o)", path, info.Mode().Perm()).WithHint("chmod 600 %s", path)
		}
		return nil
	})
	if f, ok := fault.Of(err); ok {
		return nil, fault.New(f.Code, "%s: %w", verb, err).WithHint("%s", f.Hint)
	}
	if err != nil {
		return nil, fault.New(fault.StorageIO, "%s: %w", verb, err)
	}
	key, err := parseKey(string(text))
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "%s: %s contains no key: %w", verb, path, err).
			WithHint("restore it from a backup, or move it away to get a new key")
	}
	return key, nil
}

// parseKey reads the key file's text. Its errors never repeat the text.
func parseKey(text string) (*Key, error) {
	line, ok := strings.CutSuffix(text, "\n")
	if !ok {
		return nil, errors.New("the line is cut")
	}
	if strings.ContainsAny(line, "\r\n") { // base64 decoding would pass over them
		return nil, errors.New("there is more than one line")
	}
	signer, err := note.NewSigner(line)
	if err != nil {
		return nil, errors.New("the line is malformed")
	}
	if signer.Name() != keyName {
		return nil, errors.New("the key is not named " + keyName)
	}
	// The signer does not give its public key; the line's last field, which
	// NewSigner has checked, is 0x01 and the seed. The hash before it has no
	// plus sign, the base64 may have several.
	encoded := strings.SplitN(line, "+", 5)[4]
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the line is malformed")
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	verifier, err := note.NewEd25519VerifierKey(keyName, public)
	if err != nil {
		return nil, err
	}
	return &Key{signer: signer, verifier: verifier}, nil
}
