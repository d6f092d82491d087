package files

import (
	"encoding/hex"
	"os"
	"path/filepath"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
)

// Oids returns the ids that git has for contents, of those that are named by it.
func (s *Contents) Oids() (map[chain.Hash]string, error) {
	if _, err := s.Refresh(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	inPack := map[string][]place{}
	for _, p := range s.where {
		if p.form == inGit {
			inPack[p.pack] = append(inPack[p.pack], p)
		}
	}
	out := map[chain.Hash]string{}
	for name, places := range inPack {
		path := filepath.Join(s.PackDir(), name)
		whole, err := os.ReadFile(path)
		if err != nil {
			return nil, durable.Failure("read", path, err)
		}
		for _, p := range places {
			if end := p.offset + int64(p.length); end <= int64(len(whole)) {
				out[p.hash] = hex.EncodeToString(whole[p.offset:end])
			}
		}
	}
	return out, nil
}

// InGit returns the repository and git's id of a content that only a repository has; false if
// the store itself has it, or does not know it.
func (s *Contents) InGit(h chain.Hash) (repo, oid string, ok bool) {
	p, repo, ok, err := s.find(h)
	if err != nil || !ok || p.form != inGit {
		return "", "", false
	}
	payload, err := s.payload(p)
	return repo, hex.EncodeToString(payload), err == nil
}
