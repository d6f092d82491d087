package files

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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
