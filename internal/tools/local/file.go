package local

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramet/internal/base/step"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/tool"
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
	if l.o.Replaces != nil && !path.IsAbs(s.rel) { // of the agent's /tmp there are no states
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

// refuseName keeps the file tools from what is not theirs.
func refuseName(name string, a aim) error {
	switch plain := plainName(name); {
	case isGit(plain):
		return sentenceError("What is inside .git is git's own. Use git itself, with bash.")
	case plain == ".ramet" && a >= toWrite:
		return sentenceError("What is inside .ramet is ramet's own configuration, and is not written by tools.")
	}
	return nil
}

// ofRepository reports whether a name in a folder is a part of a repository without .git, or makes one.
func ofRepository(dir *os.Root, name string) bool {
	return sandbox.CompletesGuard(plainName(name), func(other string) bool {
		_, err := dir.Lstat(other)
		return err == nil
	})
}

// isTrash reports whether a name in a folder is the trash of a project. It may have been made
// after the tools were.
func isTrash(folder, name string) bool {
	return plainName(name) == "trash" && plainName(path.Base(folder)) == ".ramet"
}

// isGit knows also the short name that Windows gives to .git.
func isGit(plain string) bool { return plain == ".git" || plain == "git~1" }

// gitName says the same of a name as it is in a folder, at once for most.
func gitName(name string) bool {
	if name == "" || name[0] < utf8.RuneSelf && !strings.ContainsRune(".gG", rune(name[0])) {
		return false
	}
	return isGit(plainName(name))
}

// plainName returns the name that some file system would take this one for: without case,
// without marks that are not drawn, without trailing dots, spaces and streams.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	// Letters outside ASCII whose case leads into it.
	name = strings.NewReplacer("\u0131", "i", "\u017f", "s").Replace(name)
	return strings.TrimRight(name, ". ")
}

type pathArgs struct{ Path string }

// subject returns the file that a call means, links resolved. A path that leads nowhere
// stays as it is; running it says why.
func (l *Local) subject(args json.RawMessage) string {
	a, err := parseArguments[pathArgs](args)
	if err != nil {
		return ""
	}
	return l.subjectOf(a.Path)
}

func (l *Local) subjectOf(p string) string {
	if s, err := l.find(p, toName); err == nil {
		defer s.close()
		return s.rel
	}
	if rel, err := l.relative(p); err == nil {
		return rel
	}
	return path.Clean(filepath.ToSlash(p))
}

// permitted refuses a call whose path leads to another file than when it was permitted: the permission for
// one says nothing about the other.
func (l *Local) permitted(c tool.Call) error {
	if now := l.subject(c.Args); c.Subject != "" && now != c.Subject {
		return refuseMoved(c.Subject, now)
	}
	return nil
}

func (s *handle) permitted(c tool.Call) error {
	if c.Subject != "" && s.rel != c.Subject {
		return refuseMoved(c.Subject, s.rel)
	}
	return nil
}

func refuseMoved(was, now string) error {
	return sentenceError("What was permitted was %s, and by now the path leads to %s. Nothing was written.", showPath(was), showPath(now))
}

// summary returns a verb and the file.
func (l *Local) summary(verb string) func(json.RawMessage) string {
	return func(args json.RawMessage) string { return verb + " " + showPath(l.subject(args)) }
}
