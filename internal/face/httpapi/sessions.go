package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"runtime"
	"time"

	"ramet/internal/base/durable"
)

// keptSessions is the file of sessions. It has no secret: hashes lead to no session.
type keptSessions struct {
	Address  string               `json:"address"`  // where the server listens
	Sessions map[string]time.Time `json:"sessions"` // when each ends, by the hex SHA-256 of its secret
}

func (k keptSessions) passes() passes {
	out := passes{}
	for text, until := range k.Sessions {
		var hash [sha256.Size]byte
		if n, err := hex.Decode(hash[:], []byte(text)); err == nil && n == len(hash) {
			out[hash] = until
		}
	}
	return out
}

// readSessions reads the file of sessions. One that others can change is refused.
func readSessions(path string) (out keptSessions, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return out, err
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return out, fs.ErrPermission
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func (a *access) save() error {
	if a.file == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := keptSessions{Address: a.address, Sessions: map[string]time.Time{}}
	for hash, until := range a.sessions {
		if a.now().Before(until) {
			out.Sessions[hex.EncodeToString(hash[:])] = until
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return durable.WriteFile(a.file, text, 0o600)
}

// rememberAddress notes where the server listens, for LastAddress.
func (a *access) rememberAddress(address string) {
	a.mu.Lock()
	a.address = address
	a.mu.Unlock()
	if _, err := os.Lstat(a.file); err == nil {
		_ = a.save() // then a browser asks in vain until the page is opened anew
	}
}

// LastAddress returns where the server listened that made the sessions in a file, if one of them has not
// ended: browsers still ask there. Only an address on loopback is returned.
func LastAddress(path string) (string, bool) {
	kept, err := readSessions(path)
	if err != nil {
		return "", false
	}
	host, _, err := net.SplitHostPort(kept.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return "", false
	}
	for _, until := range kept.Sessions {
		if time.Now().Before(until) {
			return kept.Address, true
		}
	}
	return "", false
}
