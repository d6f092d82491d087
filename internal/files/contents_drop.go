package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/step"
)

// DroppedContents describes what Drop would free, or freed.
type DroppedContents struct {
	Objects int
	Bytes   int64
}

// Plan returns what Drop would free. Objects of packs that are younger than since stay: an entry
// that names them may be about to be written.
func (s *Contents) Plan(keep func(chain.Hash) bool, since time.Time) (DroppedContents, error) {
	keep, err := s.withBases(keep)
	if err != nil {
		return DroppedContents{}, err
	}
	d, _, err := s.doomed(keep, since)
	return d, err
}

// withBases keeps also what others are deltas of.
func (s *Contents) withBases(keep func(chain.Hash) bool) (func(chain.Hash) bool, error) {
	if _, err := s.Refresh(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	needed := map[chain.Hash]bool{}
	for h, p := range s.where {
		if !keep(h) {
			continue
		}
		for {
			b, ok, err := s.base(p)
			if err != nil {
				return nil, err
			}
			if !ok || needed[b] {
				break
			}
			needed[b] = true
			if p, ok = s.where[b]; !ok {
				break // another host has it
			}
		}
	}
	return func(h chain.Hash) bool { return keep(h) || needed[h] }, nil
}

// Drop drops all objects but those to be kept. What stays is written into one pack before
// anything is removed; a process that is killed in between leaves objects twice, and loses none.
func (s *Contents) Drop(keep func(chain.Hash) bool, since time.Time) (DroppedContents, error) {
	keep, err := s.withBases(keep)
	if err != nil {
		return DroppedContents{}, err
	}
	d, old, err := s.doomed(keep, since)
	if err != nil || len(old) == 0 {
		return d, err
	}
	for repo, entries := range s.staying(keep, old) {
		if err := s.rewrite(repo, entries); err != nil {
			return DroppedContents{}, err
		}
	}
	if err := durable.WriteFile(filepath.Join(s.dir, "generation"), []byte(rand.Text()), 0o600); err != nil {
		return DroppedContents{}, err
	}
	for name := range old {
		if err := step.Remove(filepath.Join(s.PackDir(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return DroppedContents{}, durable.Failure("remove", name, err)
		}
	}
	if err := durable.SyncFolder(s.PackDir()); err != nil {
		return DroppedContents{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharing)
	defer cancel()
	if err := s.unshare(ctx, old); err != nil {
		return DroppedContents{}, err
	}
	_, err = s.Refresh()
	return d, err
}

// doomed returns the packs that hold something to be dropped, or are many and small.
func (s *Contents) doomed(keep func(chain.Hash) bool, since time.Time) (DroppedContents, map[string]bool, error) {
	var d DroppedContents
	if _, err := s.Refresh(); err != nil {
		return d, nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	old := map[string]bool{}
	for name := range s.packs {
		info, err := os.Stat(filepath.Join(s.PackDir(), name))
		if err != nil || info.ModTime().After(since) {
			continue
		}
		_, entries, err := readIndex(filepath.Join(s.PackDir(), name))
		if err != nil {
			return d, nil, err
		}
		for _, e := range entries {
			if !keep(e.hash) {
				old[name] = true
				d.Objects++
				d.Bytes += int64(e.length + entrySize)
			}
		}
	}
	return d, old, nil
}

func (s *Contents) staying(keep func(chain.Hash) bool, old map[string]bool) map[string][]place {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := map[string][]place{}
	for h, p := range s.where {
		if old[p.pack] && keep(h) {
			out[s.repos[p.repo]] = append(out[s.repos[p.repo]], p)
		}
	}
	return out
}

// rewrite copies objects into a pack of their own, as they are.
func (s *Contents) rewrite(repo string, places []place) error {
	fresh := NewContents(s.dir, s.git)
	fresh.shared = s.shared
	fresh.caughtUp.Store(true)
	b := &ContentBatch{store: fresh, repo: repo, held: map[chain.Hash]bool{}}
	defer b.Drop()
	for _, p := range places {
		payload, err := s.payload(p)
		if err != nil {
			return err
		}
		if err := b.put(p.entry, payload); err != nil {
			return err
		}
	}
	_, err := b.Commit()
	return err
}

// Sweep removes what processes that were killed left half made, if it is old.
func (s *Contents) Sweep(before time.Time) {
	names, err := os.ReadDir(s.PackDir())
	if err != nil {
		return // nothing was kept yet
	}
	for _, e := range names {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), ".pack-") && info.ModTime().Before(before) {
			step.Remove(filepath.Join(s.PackDir(), e.Name()))
		}
	}
}
