package files

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"ramet/internal/base/chain"
	"ramet/internal/base/step"
)

// clone makes a file that shares its content with the one beside, if that is the same and the
// file system can. false: it is to be written, and nothing is there.
func (w *work) clone(dir *step.Root, temp, at string, to Node) bool {
	if w.copies {
		return false
	}
	src := w.same(at, to)
	if src == nil {
		return false
	}
	defer src.Close()
	err := CloneFile(dir.Root, temp, 0o600, src)
	if err == nil {
		err = w.settle(dir, temp, to)
	}
	w.copies = errors.Is(err, ErrCannotClone)
	return err == nil
}

// copy makes a file of the one beside, where its content was not kept.
func (w *work) copy(dir *step.Root, temp, at string, to Node) (string, error) {
	src := w.same(at, to)
	if src == nil {
		return Unkept, nil
	}
	defer src.Close()
	read := sha256.New()
	err := w.write(dir, temp, io.TeeReader(src, read), to)
	other := chain.Hash(read.Sum(nil)) != to.Hash // it changed meanwhile
	if err != nil || other {
		dir.Remove(temp)
	}
	if err == nil && other {
		return Unkept, nil
	}
	return explain(err)
}

// same opens the file beside, if it may be the same; nil: it is not.
func (w *work) same(at string, to Node) *os.File {
	if w.beside == nil || to.Kind != File {
		return nil
	}
	info, err := w.beside.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || info.Size() != to.Size {
		return nil
	}
	src, err := w.beside.OpenFile(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	return src
}

var errOther = errors.New("it is another content")

// settle holds a clone against what it shall be, and puts it on disk. What is something else is
// removed.
func (w *work) settle(dir *step.Root, temp string, to Node) (err error) {
	defer func() {
		if err != nil {
			dir.Remove(temp)
		}
	}()
	got, err := sumFile(dir, temp)
	if err != nil {
		return err
	}
	if got != to.Hash {
		return errOther
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(to.Perm()); err != nil {
		return err
	}
	return f.Sync()
}
