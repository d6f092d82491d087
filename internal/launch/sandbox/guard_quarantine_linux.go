package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// quarantine receives the things of one folder.
type quarantine struct {
	root *os.Root // the folder
	dir  string   // its path
	into string

	made string // of this time; empty: not yet
}

// move takes something out of the folder.
func (q *quarantine) move(at, why string) GuardMoved {
	m := GuardMoved{Path: at, Why: why}
	to, err := q.place(at)
	if err == nil {
		err = q.rename(at, to)
	}
	if errors.Is(err, unix.EXDEV) {
		err = q.copy(at, to)
	}
	if err != nil {
		m.Why += fmt.Sprintf("; it could not be moved away: %v", err)
		return m
	}
	m.To = to
	return m
}

// place makes room for something. What is quarantined at one time lies in one folder,
// under the names that it had.
func (q *quarantine) place(at string) (string, error) {
	if q.made == "" {
		if err := os.MkdirAll(q.into, 0o700); err != nil {
			return "", err
		}
		made, err := os.MkdirTemp(q.into, time.Now().UTC().Format("20060102-150405-"))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(made, "from"), []byte(q.dir+"\n"), 0o600); err != nil {
			return "", err
		}
		q.made = made
	}
	to := filepath.Join(q.made, "files", at)
	return to, os.MkdirAll(filepath.Dir(to), 0o700)
}

// rename moves by handles, so that a folder which is swapped for a link meanwhile leads
// nowhere.
func (q *quarantine) rename(at, to string) error {
	from, err := q.root.Open(path.Dir(at))
	if err != nil {
		return err
	}
	defer from.Close()
	return unix.Renameat(int(from.Fd()), path.Base(at), unix.AT_FDCWD, to)
}

// copy is for another file system: folders, links and plain files go over, and the rest
// is dropped.
func (q *quarantine) copy(at, to string) error {
	info, err := q.root.Lstat(at)
	if err != nil {
		return err
	}
	if err := q.copyOne(at, to, info); err != nil {
		return err
	}
	return q.root.RemoveAll(at)
}

func (q *quarantine) copyOne(at, to string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		dir, err := q.root.Open(at)
		if err != nil {
			return err
		}
		entries, err := dir.ReadDir(-1)
		dir.Close()
		if err != nil {
			return err
		}
		for _, e := range entries {
			inner, err := q.root.Lstat(path.Join(at, e.Name()))
			if err != nil {
				return err
			}
			if err := q.copyOne(path.Join(at, e.Name()), filepath.Join(to, e.Name()), inner); err != nil {
				return err
			}
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := q.root.Readlink(at)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.Mode().IsRegular():
		return q.copyFile(at, to)
	}
	return nil
}

func (q *quarantine) copyFile(at, to string) error {
	from, err := q.root.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	// Without the right to execute: so that it does not run by accident.
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
