package trust

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// Token is the secret that opens every route. It cannot be printed by accident: fmt calls
// String and GoString.
type Token struct{ value string }

// String hides the token.
func (Token) String() string { return "[redacted]" }

// GoString hides the token.
func (Token) GoString() string { return "[redacted]" }

// TokenPath returns where the token of a home folder is.
func TokenPath(home string) string { return filepath.Join(home, "token") }

// OpenToken reads the token of a home folder, and makes it first if there is none. Of
// several processes that make it one wins, and all read the same.
func OpenToken(home string) (Token, error) {
	path := TokenPath(home)
	t, err := ReadToken(home)
	if !fault.Is(err, fault.NotFound) {
		return t, err
	}
	if err := durable.MakeFolder(home, 0o700); err != nil {
		return Token{}, err
	}
	err = durable.CreateFile(path, []byte(rand.Text()+rand.Text()+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Token{}, err
	}
	return ReadToken(home)
}

// ReadToken reads the token of a home folder; NOT_FOUND if there is none. A file that
// others can read is refused: its token may be known already.
func ReadToken(home string) (Token, error) {
	path := TokenPath(home)
	text, err := durable.ReadPlain(path, maxToken, func(info fs.FileInfo) error {
		if info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return fault.New(fault.InvalidConfig, "%s can be read or written by others (mode %o)", path, info.Mode().Perm()).
				WithHint("delete it, and a new one is made; programs that use the old one have to read it again")
		}
		return nil
	})
	switch _, ours := fault.Of(err); {
	case errors.Is(err, fs.ErrNotExist):
		return Token{}, fault.New(fault.NotFound, "there is no token at %s", path).WithHint("`ramet serve` makes it")
	case ours:
		return Token{}, err
	case err != nil:
		return Token{}, fault.New(fault.StorageIO, "read token: %w", err)
	}
	value := strings.TrimSpace(string(text))
	bad := strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(value) < minToken || bad {
		return Token{}, fault.New(fault.InvalidConfig, "what %s holds is not a token", path).
			WithHint("delete it, and a new one is made")
	}
	return Token{value}, nil
}

// A token that a user wrote has to be long, too.
const minToken, maxToken = 32, 1024

// For returns a token that stands for one agent. It is made of the token itself, so that nothing
// has to be kept: it is good for as long as the token is, and the agent lives.
func (t Token) For(a id.Agent) string { return agentPrefix + string(a) + "." + t.stamp(a) }

const agentPrefix = "ramet-agent."

// Agent returns the agent for which a token was made; false: it is none of ours.
func (t Token) Agent(said string) (id.Agent, bool) {
	name, stamp, ok := strings.Cut(strings.TrimPrefix(said, agentPrefix), ".")
	if !ok || t.value == "" || !strings.HasPrefix(said, agentPrefix) {
		return "", false
	}
	a, err := id.ParseAgent(name)
	return a, err == nil && hmac.Equal([]byte(stamp), []byte(t.stamp(a)))
}

// Bearer returns the header that shows the token to a server.
func (t Token) Bearer() string { return "Bearer " + t.value }

// Is reports whether a client sent this token.
func (t Token) Is(said string) bool {
	want, have := sha256.Sum256([]byte(t.value)), sha256.Sum256([]byte(said))
	return t.value != "" && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

func (t Token) stamp(a id.Agent) string {
	mac := hmac.New(sha256.New, []byte(t.value))
	mac.Write([]byte("ramet agent\n" + string(a)))
	return hex.EncodeToString(mac.Sum(nil))
}

// Prove answers a challenge: the HMAC-SHA256, under the token, of where the question was
// sent and the challenge. Where is in it so that a program on another port cannot have
// it answered by us; empty if there is no token.
func (t Token) Prove(host, challenge string) string {
	if t.value == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(t.value))
	mac.Write([]byte("ramet health\n" + strings.ToLower(host) + "\n" + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}
