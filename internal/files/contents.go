package files

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Contents is a folder of packs. It is safe for concurrent use.
type Contents struct {
	dir string
	// git reads an object of a repository by its id.
	git func(ctx context.Context, repo, oid string) ([]byte, error)

	shared   SharedContents // nil: not shared
	caughtUp atomic.Bool    // the others have all that is here

	mu         sync.RWMutex
	packs      map[string]bool // that were read, by name
	where      map[chain.Hash]place
	repos      []string
	generation string
}

// place locates an object.
type place struct {
	pack string
	repo int
	entry
}

// NewContents returns the store in a folder, which is made when something is kept. git reads an object of a
// repository by its id.
func NewContents(dir string, git func(ctx context.Context, repo, oid string) ([]byte, error)) *Contents {
	return &Contents{dir: dir, git: git, packs: map[string]bool{}, where: map[chain.Hash]place{}}
}

// Dir returns the folder.
func (s *Contents) Dir() string { return s.dir }

// PackDir returns where its packs are.
func (s *Contents) PackDir() string { return filepath.Join(s.dir, "packs") }

// Refresh takes in what other processes did. Its answer changes when something was dropped
// since: what was there before may be gone.
func (s *Contents) Refresh() (generation string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.refresh()
	return s.generation, err
}

func (s *Contents) refresh() error {
	now, err := os.ReadFile(filepath.Join(s.dir, "generation"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("read", s.dir, err)
	}
	if string(now) != s.generation {
		s.generation, s.packs, s.where, s.repos = string(now), map[string]bool{}, map[chain.Hash]place{}, nil
	}
	names, err := os.ReadDir(s.PackDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("read", s.PackDir(), err)
	}
	for _, e := range names {
		name := e.Name()
		if s.packs[name] || !strings.HasSuffix(name, ".pack") || strings.HasPrefix(name, ".") {
			continue
		}
		repo, entries, err := readIndex(filepath.Join(s.PackDir(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
		s.take(name, repo, entries)
	}
	return nil
}

// take takes in a pack.
func (s *Contents) take(name, repo string, entries []entry) {
	s.packs[name] = true
	n := slices.Index(s.repos, repo)
	if n < 0 {
		n = len(s.repos)
		s.repos = append(s.repos, repo)
	}
	for _, e := range entries {
		// What is kept goes before what only a repository has.
		if old, ok := s.where[e.hash]; !ok || old.form == inGit {
			s.where[e.hash] = place{name, n, e}
		}
	}
}

// find returns where an object is; packs of other processes are looked at when it is not known.
func (s *Contents) find(h chain.Hash) (place, string, bool, error) {
	s.mu.RLock()
	p, ok := s.where[h]
	repo := ""
	if ok {
		repo = s.repos[p.repo]
	}
	s.mu.RUnlock()
	if ok {
		return p, repo, true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return p, "", false, err
	}
	if p, ok = s.where[h]; ok {
		repo = s.repos[p.repo]
	}
	return p, repo, ok, nil
}

// Has reports whether an object was there when the store was last looked at (Refresh).
func (s *Contents) Has(h chain.Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.where[h]
	return ok
}

// depth returns how many deltas stand between a folder and one that is whole.
func (s *Contents) depth(h chain.Hash) (byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.where[h]
	switch {
	case !ok || p.form == inGit:
		return 0, false
	case p.form == zipped:
		return 0, true
	}
	return p.form - firstDelta + 1, true
}

// Size returns how large an object is, and how much of the disk it takes; 0: git has it.
func (s *Contents) Size(h chain.Hash) (whole, kept int64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.where[h]
	if p.form == inGit {
		return p.size, 0, ok
	}
	return p.size, int64(p.length), ok
}

// Get reads an object.
func (s *Contents) Get(ctx context.Context, h chain.Hash) ([]byte, error) {
	p, repo, ok, err := s.find(h)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, missing(h)
	}
	content, err := s.read(ctx, p, repo)
	if errors.Is(err, fs.ErrNotExist) { // its pack was dropped meanwhile
		if _, err := s.Refresh(); err != nil {
			return nil, err
		}
		if p, repo, ok, err = s.find(h); err != nil || !ok {
			return nil, errors.Join(missing(h), err)
		}
		content, err = s.read(ctx, p, repo)
	}
	if err != nil {
		return nil, err
	}
	if chain.Sum(content) != h {
		return nil, fault.New(fault.StorageCorrupt, "the content %s is not what was kept", h)
	}
	return content, nil
}

func missing(h chain.Hash) error {
	return fault.New(fault.NotFound, "the content %.12s was not kept, or is kept no more", h)
}

// payload reads what a pack holds of an object.
func (s *Contents) payload(p place) ([]byte, error) {
	path := filepath.Join(s.PackDir(), p.pack)
	f, err := os.Open(path)
	if err != nil {
		return nil, durable.Failure("read", path, err)
	}
	defer f.Close()
	payload := make([]byte, p.length)
	if _, err := f.ReadAt(payload, p.offset); err != nil {
		return nil, durable.Failure("read", path, err)
	}
	return payload, nil
}

// unpacked reads an object that a pack holds: its content, or a delta of it.
func (s *Contents) unpacked(p place) ([]byte, error) {
	payload, err := s.payload(p)
	if err != nil {
		return nil, err
	}
	content, err := unpacker().DecodeAll(payload, make([]byte, 0, min(p.size, 64<<20)))
	if err != nil {
		return nil, fault.New(fault.StorageCorrupt, "unpack from %s: %w", filepath.Join(s.PackDir(), p.pack), err)
	}
	return content, nil
}

func (s *Contents) read(ctx context.Context, p place, repo string) ([]byte, error) {
	if p.form == inGit {
		oid, err := s.payload(p)
		if err != nil {
			return nil, err
		}
		content, err := s.git(ctx, repo, hex.EncodeToString(oid))
		if err != nil {
			return nil, fault.New(fault.NotFound, "git has %x no more, which was a file: %w", oid, err)
		}
		return content, nil
	}
	content, err := s.unpacked(p)
	if err != nil || p.form == zipped {
		return content, err
	}
	h, ok := DeltaBase(content)
	if !ok {
		return nil, fault.New(fault.StorageCorrupt, "a folder in %s cannot be read", filepath.Join(s.PackDir(), p.pack))
	}
	base, err := s.Folder(h)
	if err != nil {
		return nil, err
	}
	whole, err := ApplyDelta(base, content)
	return whole.Bytes(), err
}

// base returns the folder that another one is kept as a delta of.
func (s *Contents) base(p place) (chain.Hash, bool, error) {
	if p.form == zipped || p.form == inGit {
		return chain.Hash{}, false, nil
	}
	content, err := s.unpacked(p)
	if err != nil {
		return chain.Hash{}, false, err
	}
	h, ok := DeltaBase(content)
	return h, ok, nil
}

// Folder implements files.Source.
func (s *Contents) Folder(h chain.Hash) (Folder, error) {
	content, err := s.Get(context.Background(), h)
	if err != nil {
		return nil, err
	}
	return ParseFolder(content)
}

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

// SharedContents holds the packs that the hosts of a workspace share. A pack never changes.
type SharedContents interface {
	// Names lists all packs.
	Names(ctx context.Context) ([]string, error)
	// Pack reads one. Not there: NOT_FOUND.
	Pack(ctx context.Context, name string) ([]byte, error)
	// Put shares one. One of that name is the same.
	Put(ctx context.Context, name string, data []byte) error
	// Drop takes one away; one that is not there is nothing.
	Drop(ctx context.Context, name string) error
}

// Share lets others have what is kept from now on, before Commit returns. It is called before
// the store is used.
func (s *Contents) Share(with SharedContents) { s.shared = with }

// largestShared is the size up to which a pack is shared: a database takes no more at once.
const largestShared = 256 << 20

var packName = text.Regexp(`^[0-9a-f]{16}-[A-Z0-9]{8}\.pack$`)

// sharing sets how long others are waited for.
const sharing = time.Minute

// share gives a pack to the others; the first time also those that they do not have, because
// they were kept before anybody shared, or a connection was lost.
func (s *Contents) share(ctx context.Context, name string) error {
	if s.shared == nil {
		return nil
	}
	if !s.caughtUp.Swap(true) {
		if err := s.catchUp(ctx); err != nil {
			s.caughtUp.Store(false)
			return err
		}
	}
	return s.give(ctx, name)
}

// catchUp gives the others every pack that they do not have.
func (s *Contents) catchUp(ctx context.Context) error {
	names, err := s.shared.Names(ctx)
	if err != nil {
		return err
	}
	s.mu.RLock()
	here := slices.Collect(maps.Keys(s.packs))
	s.mu.RUnlock()
	for _, name := range here {
		if slices.Contains(names, name) {
			continue
		}
		if err := s.give(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Contents) give(ctx context.Context, name string) error {
	path := filepath.Join(s.PackDir(), name)
	info, err := os.Stat(path)
	if err == nil && info.Size() > largestShared {
		return nil // it stays on this machine
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return durable.Failure("read", path, err)
	}
	return s.shared.Put(ctx, name, data)
}

// Pull brings the packs of other hosts here. Without others it does nothing.
func (s *Contents) Pull(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	names, err := s.shared.Names(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Refresh(); err != nil {
		return err
	}
	for _, name := range names {
		s.mu.RLock()
		known := s.packs[name]
		s.mu.RUnlock()
		if known || !packName().MatchString(name) {
			continue
		}
		data, err := s.shared.Pack(ctx, name)
		if fault.Is(err, fault.NotFound) {
			continue // dropped meanwhile
		}
		if err == nil {
			err = durable.MakeFolder(s.PackDir(), 0o700)
		}
		if err == nil {
			err = durable.WriteFile(filepath.Join(s.PackDir(), name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	_, err = s.Refresh()
	return err
}

// unshare takes packs away that were dropped here.
func (s *Contents) unshare(ctx context.Context, names map[string]bool) error {
	if s.shared == nil {
		return nil
	}
	for name := range names {
		if err := s.shared.Drop(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
