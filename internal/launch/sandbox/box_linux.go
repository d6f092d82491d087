package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// resolve makes real paths of a box.
func (b *Box) resolve() (*inside, error) {
	in := &inside{Network: b.Network, Limits: b.Limits.filled(), Same: map[string]identity{}}
	for _, w := range b.Write {
		same, err := identifyFolder(w)
		if err != nil {
			return nil, err
		}
		w = filepath.Clean(w)
		in.Write = append(in.Write, w)
		in.Same[w] = same
	}
	slices.Sort(in.Write) // outer folders first
	hide := append(slices.Clone(b.Hide), "/run/screen")
	patterns := commandSockets
	if !b.Network {
		hide = append(hide, socketFolders()...)
		patterns += " " + agentSockets
	}
	for _, path := range temporarySockets(patterns) {
		if !slices.ContainsFunc(in.Write, func(w string) bool { return w == path || isBelow(w, path) }) {
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
	in.Fixed = slices.Clone(in.Keep)
	var err error
	if !b.Network {
		if in.Sockets, err = findSockets(); err != nil {
			return nil, fault.New(fault.Denied, "confine command: find sockets: %w", err)
		}
		if abi, _ := landlockABI(); abi < socketsABI {
			in.Freeze = temporaryFolders(in.Write)
		}
	}
	return in, nil
}

// identity tells a folder from another one that has its path later.
type identity struct{ Dev, Ino uint64 }

// identifyFolder opens a folder to be written without following any symbolic link: one that a command
// put in place of its folder would open the rest of the machine to the next command.
func identifyFolder(path string) (identity, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case errors.Is(err, unix.ELOOP):
		return identity{}, fault.New(fault.Denied, "confine command: a symbolic link leads to %s, which it may write", path).
			WithHint("look who made the link; remove it, or name the folder itself")
	case errors.Is(err, unix.ENOENT):
		return identity{}, fault.New(fault.NotFound, "confine command: %s: %w", path, err).WithHint("a folder to be written must exist")
	case err != nil || !filepath.IsAbs(path) || filepath.Clean(path) == "/":
		unix.Close(fd)
		return identity{}, fault.New(fault.Denied, "confine command: %s cannot be the folder that it may write", path).
			WithHint("work in a folder of its own, not at the root of the file system")
	}
	defer unix.Close(fd)
	return identityOf(fd)
}

func identityOf(fd int) (identity, error) {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	return identity{Dev: stat.Dev, Ino: stat.Ino}, err
}

// watch looks at what has a name that others execute, which is kept.
func (b *Box) watch(in *inside) (*GuardWatch, error) {
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
	w, err := BeginGuard(folders, b.Forbid, b.Guard)
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
