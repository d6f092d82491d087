package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
)

// kept returns what is remembered of a server's tools; ok is false if nothing is, or nothing that
// can be read: then it is asked.
func (p *Pool) kept(s Server) (l List, ok bool) {
	data, err := os.ReadFile(p.file(s))
	if err != nil || json.Unmarshal(data, &l) != nil || l.Fingerprint != s.Fingerprint() || l.Server != s.Name {
		return List{}, false
	}
	return l, true
}

// keep remembers it. Where it cannot, the server is asked again next time.
func (p *Pool) keep(s Server, l List) {
	data, err := json.Marshal(l)
	if err != nil || durable.MakeFolder(p.Cache, 0o700) != nil {
		return
	}
	_ = durable.WriteFile(p.file(s), append(data, '\n'), 0o600)
}

func (p *Pool) file(s Server) string { return filepath.Join(p.Cache, s.Fingerprint()+".json") }
