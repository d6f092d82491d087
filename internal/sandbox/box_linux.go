package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ramet/internal/fault"
	"ramet/internal/sandbox/guard"
)

// resolve makes real paths of a box.
func (b *Box) resolve() (*inside, error) {
	in := &inside{Network: b.Network, Limits: b.Limits.filled()}
	for _, w := range b.Write {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			return nil, fault.New(fault.NotFound, "confine command: %w", err).WithHint("a folder to be written must exist")
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() || real == "/" || !filepath.IsAbs(real) {
			return nil, fault.New(fault.Denied, "confine command: %s cannot be the folder that it may write", w).
				WithHint("work in a folder of its own, not at the root of the file system")
		}
		in.Write = append(in.Write, real)
	}
	slices.Sort(in.Write) // outer folders first
	hide := append(slices.Clone(b.Hide), "/run/screen")
	patterns := commandSockets
	if !b.Network {
		hide = append(hide, socketFolders.Get()...)
		patterns += " " + agentSockets
	}
	for _, path := range temporarySockets(patterns) {
		if !slices.ContainsFunc(in.Write, func(w string) bool { return w == path || below(w, path) }) {
			hide = append(hide, path)
		}
	}
	for _, pair := range []struct {
		from []string
		to   *[]string
	}{{b.Keep, &in.Keep}, {hide, &in.Hide}} {
		for _, path := range pair.from {
			real, err := filepath.EvalSymlinks(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || !filepath.IsAbs(real) {
				return nil, fault.New(fault.Denied, "confine command: protect %s: %v", path, err)
			}
			*pair.to = append(*pair.to, real)
		}
		slices.Sort(*pair.to)
	}
	var err error
	if !b.Network {
		if in.Sockets, err = sockets(); err != nil {
			return nil, fault.New(fault.Denied, "confine command: find sockets: %w", err)
		}
	}
	return in, nil
}

// watch looks at what has a name that others execute, which is kept.
func (b *Box) watch(in *inside) (*guard.Watch, error) {
	if b.Guard == "" {
		return nil, nil
	}
	err := os.MkdirAll(filepath.Dir(b.Guard), 0o700)
	if err != nil {
		return nil, fault.New(fault.StorageIO, "confine command: make a place for the quarantine: %w", err)
	}
	var folders []string
	for _, dir := range b.Guarded {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, fault.New(fault.NotFound, "confine command: %w", err)
		}
		folders = append(folders, real)
	}
	w, err := guard.Begin(folders, b.Forbid, b.Guard)
	if err != nil {
		return nil, fault.New(fault.StorageIO, "confine command: %w", err)
	}
	for _, path := range w.Kept() {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			in.Keep = append(in.Keep, real)
		}
	}
	slices.Sort(in.Keep)
	in.Keep = slices.Compact(in.Keep)
	return w, nil
}
