package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Ground is a project, held by a handle: what is opened in it stays in it.
type Ground struct {
	dir  string
	root *os.Root
}

// Open opens a project.
func Open(dir string) (*Ground, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "no folder %s: %w", dir, err)
	}
	if err != nil {
		return nil, durable.Failure("open", dir, err)
	}
	return &Ground{dir, root}, nil
}

// Close gives back the handle.
func (g *Ground) Close() error { return g.root.Close() }

// Dir returns the project's folder.
func (g *Ground) Dir() string { return g.dir }

// Read reads a plain file of at most so many bytes. A link is followed inside of the
// project only. A file that is not there is fs.ErrNotExist; one that cannot act is
// Unfit.
func (g *Ground) Read(name string, most int64) ([]byte, error) {
	// A pipe would hang the reader: it is not waited for, and refused.
	f, err := g.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case Escapes(err):
		return nil, Unfit(leadsOut)
	case isMissing(err):
		return nil, fs.ErrNotExist
	case errors.Is(err, syscall.ELOOP):
		return nil, Unfit("it is a link that leads nowhere")
	case err != nil:
		return nil, durable.Failure("read", filepath.Join(g.dir, name), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, durable.Failure("read", filepath.Join(g.dir, name), err)
	}
	if !info.Mode().IsRegular() {
		return nil, Unfit("it is not a plain file")
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, durable.Failure("read", filepath.Join(g.dir, name), err)
	}
	if int64(len(data)) > most {
		return nil, Unfit(fmt.Sprintf("it is longer than %d bytes", most))
	}
	return data, nil
}

// Unfit describes why something in a project cannot act.
type Unfit string

func (u Unfit) Error() string { return string(u) }

// Escapes reports whether a handle refused a path because it leads out of its folder.
func Escapes(err error) bool {
	// The error has no name of its own in package os.
	return err != nil && strings.Contains(err.Error(), "path escapes from parent")
}

// isMissing reports whether there is no file, or no folder for it.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxLinks limits how many symbolic links one path may lead through, as the kernel does.
const maxLinks = 40

// WritableFolder returns the real path of a folder that a program may write. It follows links that
// the user made, such as a home that lies elsewhere. It refuses a symbolic link that lies below one
// of the folders within, which agents write: a confined command could have put it there to have the
// user's home as its folder the next time. That is DENIED, and a missing folder NOT_FOUND.
func WritableFolder(dir string, within ...string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
	}
	for _, w := range slices.Clone(within) {
		if real, err := filepath.EvalSymlinks(w); err == nil {
			within = append(within, real)
		}
	}
	split := func(path string) []string {
		return strings.FieldsFunc(path, func(r rune) bool { return os.IsPathSeparator(uint8(r)) })
	}
	root := filepath.VolumeName(abs) + string(filepath.Separator)
	at, rest := root, split(abs[len(filepath.VolumeName(abs)):])
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err == nil && links > maxLinks {
			err = syscall.ELOOP
		}
		if err != nil {
			return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		if slices.ContainsFunc(within, func(w string) bool { return containsPath(w, at) }) {
			return "", fault.New(fault.Denied, "%s is a symbolic link in a folder that agents write, and is not followed", next).
				WithHint("look where it leads; remove it, or name the folder itself")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
		}
		if filepath.IsAbs(target) {
			at, target = root, target[len(filepath.VolumeName(target)):]
		}
		links++
		rest = append(split(target), rest...)
	}
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return "", fault.New(fault.NotFound, "%s is not a folder", dir)
	}
	return at, nil
}

// containsPath reports whether path is the folder dir or lies below it.
func containsPath(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
