package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
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
