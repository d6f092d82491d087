package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
