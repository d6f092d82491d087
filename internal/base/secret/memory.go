package secret

import (
	"crypto/sha256"
	"sync"
)

// Memory remembers which texts held nothing to hide: conversations repeat the same texts
// over and over, and looking through one takes milliseconds. It keeps their hashes only.
type Memory struct {
	redactor *Redactor

	mu    sync.Mutex
	clean map[[32]byte]struct{}
}

// remembered limits how many texts are known at most; then it begins anew.
const remembered = 1 << 14

// Remember makes a memory for a redactor.
func Remember(r *Redactor) *Memory { return &Memory{redactor: r, clean: map[[32]byte]struct{}{}} }

// All calls Redactor.All, and reports whether anything was replaced.
func (m *Memory) All(s string) (out string, replaced bool) {
	key := sha256.Sum256([]byte(s))
	m.mu.Lock()
	_, known := m.clean[key]
	m.mu.Unlock()
	if known {
		return s, false
	}
	if out = m.redactor.All(s); out != s {
		return out, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.clean) >= remembered {
		clear(m.clean)
	}
	m.clean[key] = struct{}{}
	return s, false
}
