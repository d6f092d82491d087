package local

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"ramet/internal/base/step"
)

// largest is the size up to which files are compared, edited and searched.
const largest = 16 << 20

// file opens a regular file for reading. Anything else is refused, and never waited
// for.
func (s *handle) file() (*os.File, error) {
	switch {
	case s.info == nil:
		return nil, explainPath(s.rel, fs.ErrNotExist)
	case s.info.IsDir():
		return nil, sentenceError("%s is a folder. glob finds what is in it.", showPath(s.rel))
	case !s.info.Mode().IsRegular():
		return nil, sentenceError("%s is %s, not a regular file.", showPath(s.rel), kindOf(s.info.Mode()))
	}
	f, err := s.dir.OpenFile(s.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, explainPath(s.rel, err)
	}
	now, err := f.Stat()
	if err != nil || !os.SameFile(s.info, now) || !now.Mode().IsRegular() {
		f.Close()
		return nil, sentenceError("%s changed while it was opened. Nothing was done.", showPath(s.rel))
	}
	s.info = now
	return f, nil
}

// kindOf names what is neither file nor folder.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

var errTooLarge = errors.New("it is too large")

// content reads a whole file of at most the largest size.
func (s *handle) content() ([]byte, error) {
	f, err := s.file()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text []byte
	if s.info.Size() <= largest {
		text, err = io.ReadAll(io.LimitReader(f, largest+1))
	}
	if err != nil {
		return nil, explainPath(s.rel, err)
	}
	if s.info.Size() > largest || len(text) > largest {
		return nil, sentenceError("%s has more than %d MiB (%w). Use bash.", showPath(s.rel), largest>>20, errTooLarge)
	}
	return text, nil
}

var errBinary = errors.New("it is not text")

// text reads a whole text file, of at most the largest size.
func (s *handle) text() ([]byte, error) {
	body, err := s.content()
	if err == nil && bytes.IndexByte(body[:min(len(body), 8<<10)], 0) >= 0 {
		err = errBinary
	}
	return body, err
}

// unchanged returns the content of a file that was read before and is still the same.
func (l *Local) unchanged(s *handle) ([]byte, error) {
	text, err := s.content()
	if err != nil {
		return nil, err
	}
	sum, ok := l.sight(s.rel)
	switch {
	case !ok:
		return nil, sentenceError("%s was not read yet. Read it first, so that nothing in it is lost.", showPath(s.rel))
	case sum != sha256.Sum256(text):
		return nil, sentenceError("%s has changed since it was read. Read it again.", showPath(s.rel))
	case s.info.Mode().Perm()&0o200 == 0:
		return nil, sentenceError("%s is read-only.", showPath(s.rel))
	}
	return text, nil
}

// replace puts content at a handle, in one step: it is written beside and then
// renamed. A file that was there keeps its mode and owner; old is what it held.
func (l *Local) replace(s *handle, old, content []byte) (err error) {
	if l.o.Replaces != nil {
		l.o.Replaces(s.rel, old, content)
	}
	perm, masked := l.mode(0o666)
	if s.info != nil {
		perm = 0o600
	}
	temp := ".ramet-" + rand.Text()
	dir := step.In(s.dir)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return explainPath(s.rel, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			dir.Remove(temp)
			err = explainPath(s.rel, err)
		}
	}()
	if _, err = io.Copy(f, bytes.NewReader(content)); err != nil {
		return err
	}
	if s.info == nil && masked {
		if err = f.Chmod(perm); err != nil {
			return err
		}
	}
	if s.info != nil {
		keepOwner(f.File, s.info)
		if err = f.Chmod(s.info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = s.same(); err != nil {
		return err
	}
	if err = dir.Rename(temp, s.name); err != nil {
		return err
	}
	l.saw(s.rel, content)
	return nil
}

// mode returns the mode of a new file or folder, and whether it is less the umask of a client already: that of this
// process may take more away.
func (l *Local) mode(full fs.FileMode) (perm fs.FileMode, masked bool) {
	umask, err := strconv.ParseUint(l.o.Umask, 8, 9)
	return full &^ fs.FileMode(umask), err == nil
}

// same reports whether the name still stands for what was found.
func (s *handle) same() error {
	now, err := s.dir.Lstat(s.name)
	switch {
	case s.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case s.info != nil && err == nil && os.SameFile(s.info, now) &&
		now.Size() == s.info.Size() && now.ModTime().Equal(s.info.ModTime()):
		return nil
	}
	return errors.New("it changed meanwhile. Nothing was written; read it again")
}
