package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/step"
)

// ContentBatch is objects that are to be kept together. It is safe for concurrent use until it is
// committed or dropped.
type ContentBatch struct {
	store *Contents
	repo  string

	mu      sync.Mutex
	file    *step.File // nil: nothing was added yet
	at      int64
	entries []entry
	held    map[chain.Hash]bool
	bytes   int64
	err     error
}

// Begin begins a batch. repo is the folder of the repository whose ids AddGit takes.
func (s *Contents) Begin(repo string) *ContentBatch {
	return &ContentBatch{store: s, repo: repo, held: map[chain.Hash]bool{}}
}

// Add keeps a content that is not kept yet.
func (b *ContentBatch) Add(h chain.Hash, content []byte) error {
	if b.has(h) {
		return nil
	}
	return b.put(entry{hash: h, form: zipped, size: int64(len(content))}, packer().EncodeAll(content, nil))
}

// AddFolder keeps a folder: whole, or as what differs from the one that it was before, where
// that is kept; nil: it was none.
func (b *ContentBatch) AddFolder(f, before Folder) (chain.Hash, error) {
	bytes := f.Bytes()
	h := chain.Sum(bytes)
	if b.has(h) {
		return h, nil
	}
	form, content := zipped, bytes
	if len(before) >= leastDelta {
		if depth, ok := b.store.depth(before.Hash()); ok && depth < mostDeltas {
			if delta := Delta(before, f); len(delta) < len(bytes)/2 {
				form, content = firstDelta+depth, delta
			}
		}
	}
	return h, b.put(entry{hash: h, form: form, size: int64(len(content))}, packer().EncodeAll(content, nil))
}

// A folder is kept as a delta if it has so many names, and at most so many deltas stand
// between it and one that is whole.
const (
	leastDelta = 8
	mostDeltas = 24
)

// AddGit notes that the repository has a content under an id.
func (b *ContentBatch) AddGit(h chain.Hash, oid string, size int64) error {
	if b.has(h) {
		return nil
	}
	raw, err := hex.DecodeString(oid)
	if err != nil {
		return err
	}
	return b.put(entry{hash: h, form: inGit, size: size}, raw)
}

func (b *ContentBatch) has(h chain.Hash) bool {
	if b.store.Has(h) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[h]
}

func (b *ContentBatch) put(e entry, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[e.hash] || b.err != nil {
		return b.err
	}
	if b.file == nil {
		if b.err = b.open(); b.err != nil {
			return b.err
		}
	}
	e.offset, e.length = b.at, len(payload)
	if _, err := b.file.Write(payload); err != nil {
		b.err = durable.Failure("keep files in", b.store.PackDir(), err)
		return b.err
	}
	b.at += int64(len(payload))
	if e.form != inGit {
		b.bytes += int64(len(payload))
	}
	b.held[e.hash] = true
	b.entries = append(b.entries, e)
	return nil
}

func (b *ContentBatch) open() error {
	if err := durable.MakeFolder(b.store.PackDir(), 0o700); err != nil {
		return err
	}
	f, err := step.CreateTemp(b.store.PackDir(), ".pack-*")
	if err != nil {
		return durable.Failure("keep files in", b.store.PackDir(), err)
	}
	b.file = f
	if _, err := f.WriteString(magic); err != nil {
		return durable.Failure("keep files in", b.store.PackDir(), err)
	}
	b.at = int64(len(magic))
	return nil
}

// Commit makes what was added durable, and returns how many bytes that took.
func (b *ContentBatch) Commit() (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil || b.err != nil {
		b.remove()
		return 0, b.err
	}
	name := fmt.Sprintf("%016x-%s.pack", time.Now().UnixNano(), rand.Text()[:8])
	err := writeIndex(b.file, b.at, b.repo, b.entries)
	if err == nil {
		err = b.file.Sync()
	}
	if err == nil {
		err = step.Rename(b.file.Name(), filepath.Join(b.store.PackDir(), name))
	}
	if err == nil {
		b.file.Close()
		b.file = nil
		err = durable.SyncFolder(b.store.PackDir())
	}
	if err != nil {
		b.remove()
		b.err = durable.Failure("keep files in", b.store.PackDir(), err)
		return 0, b.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharing)
	defer cancel()
	if b.err = b.store.share(ctx, name); b.err != nil {
		return 0, b.err
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.take(name, b.repo, b.entries)
	return b.bytes, nil
}

// Drop gives up what was added and not committed.
func (b *ContentBatch) Drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove()
}

func (b *ContentBatch) remove() {
	if b.file != nil {
		b.file.Close()
		step.Remove(b.file.Name())
		b.file = nil
	}
}

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
