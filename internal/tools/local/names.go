package local

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/tool"
)

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
