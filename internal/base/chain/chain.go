// Package chain says which bytes are hashed, and how entries of a history are
// linked, so that anybody can check a workspace without ramet.
//
// # The link (format "ramet/1")
//
// The hash of an entry is SHA-256 over the UTF-8 bytes of one JSON array in
// RFC 8785 form (no spaces, keys sorted, shortest strings):
//
//	["ramet/1", ID, CREATED_AT, AGENT, KIND, META, COMMITMENT, PREV]
//
// ID and CREATED_AT (microseconds since 1970, UTC) are decimal strings, since
// RFC 8785 numbers are doubles. AGENT is the 22-character uuid, KIND a word,
// META a JSON object. COMMITMENT and PREV are 64 lower-case hex digits. PREV is
// the hash of the entry before; the first entry of a child takes the hash of
// its parent's entry at the fork point, so that a workspace is one DAG; the
// first entry of agent 0 takes "".
//
// # The commitment
//
//	COMMITMENT = SHA-256(SALT || CONTENT)
//
// SALT is 16 random bytes. A link covers the commitment, not the content: when
// an entry is redacted, content and salt are deleted, the links stay whole,
// and a short secret cannot be guessed from what remains.
//
// # Evolution
//
// A change of any byte above is a new format word. Entries of old formats
// verify forever; golden vectors in the tests fix them.
package chain

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is the word that opens every hashed link.
const Format = "ramet/1"

// Hash is a SHA-256 sum. The zero Hash stands for "nothing before" and prints
// as the empty string.
type Hash [sha256.Size]byte

// Sum hashes bytes.
func Sum(b []byte) Hash { return sha256.Sum256(b) }

// String returns 64 hex digits, or nothing for the zero Hash.
func (h Hash) String() string {
	if h == (Hash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// appendTo appends what String gives.
func (h Hash) appendTo(b []byte) []byte {
	if h == (Hash{}) {
		return b
	}
	return hex.AppendEncode(b, h[:])
}

// ParseHash reads what String prints.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if s == "" {
		return h, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("parse hash %q: want %d hex digits", s, 2*len(h))
	}
	return Hash(b), nil
}

// MarshalText prints the hash in JSON as hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (h *Hash) UnmarshalText(b []byte) error {
	p, err := ParseHash(string(b))
	*h = p
	return err
}

// Salt hides the content of a commitment from guessing.
type Salt [16]byte

// NewSalt draws a salt.
func NewSalt() Salt {
	var s Salt
	rand.Read(s[:])
	return s
}

// Commit binds content without showing it.
func Commit(salt Salt, content []byte) Hash {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(content)
	return Hash(h.Sum(nil))
}

// Link describes what the hash of one entry covers.
type Link struct {
	ID         int64  // id.Message
	CreatedAt  int64  // microseconds since 1970, UTC
	Agent      string // id.Agent
	Kind       string
	Meta       []byte // a JSON object in RFC 8785 form
	Commitment Hash
	Prev       Hash
}

// Bytes returns the exact bytes that Hash sums. Agent and Kind are words without
// characters that JSON would escape; stores guarantee that, and a row that was
// given others gives bytes that no hash fits.
func (l Link) Bytes() []byte {
	b := make([]byte, 0, 256+len(l.Meta))
	b = append(b, `["`+Format+`","`...)
	b = append(strconv.AppendInt(b, l.ID, 10), `","`...)
	b = append(strconv.AppendInt(b, l.CreatedAt, 10), `","`...)
	b = append(append(b, l.Agent...), `","`...)
	b = append(append(b, l.Kind...), `",`...)
	b = append(append(b, l.Meta...), `,"`...)
	b = append(l.Commitment.appendTo(b), `","`...)
	return append(l.Prev.appendTo(b), `"]`...)
}

// Hash returns the hash of the entry.
func (l Link) Hash() Hash { return Sum(l.Bytes()) }

// Canonical brings a JSON text into RFC 8785 form. It refuses what that form
// would change silently: duplicate keys, invalid UTF-8, and numbers that no
// double holds.
func Canonical(text []byte) ([]byte, error) {
	if err := finite(text); err != nil {
		return nil, err
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return v, nil
}

// finite refuses numbers beyond a double, which canonicalising would turn into
// the largest double without a word.
func finite(text []byte) error {
	if modest(text) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil // the end, or an error that Canonicalize reports better
		}
		if tok.Kind() == '0' {
			if _, err := tok.Float(); err != nil {
				return fmt.Errorf("canonical JSON: number %s does not fit a double", tok)
			}
		}
	}
}

// modest reports whether no number of a text has an exponent or more digits than a double holds. Almost
// all texts are modest, and their numbers need no parsing.
func modest(text []byte) bool {
	const digits = 300
	within, run := false, 0 // a string; digits up to here
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within, run = !within, 0
		case within:
		case '0' <= c && c <= '9':
			if run++; run > digits {
				return false
			}
		case run > 0 && (c == 'e' || c == 'E'):
			return false
		default:
			run = 0
		}
	}
	return true
}
