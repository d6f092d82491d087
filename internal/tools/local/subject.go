package local

import (
	"encoding/json"
	"path"
	"path/filepath"

	"ramet/internal/turn/tool"
)

type pathArgs struct{ Path string }

// subject returns the file that a call means, links resolved. A path that leads nowhere
// stays as it is; running it says why.
func (l *Local) subject(args json.RawMessage) string {
	a, err := parseArguments[pathArgs](args)
	if err != nil {
		return ""
	}
	if s, err := l.find(a.Path, toName); err == nil {
		defer s.close()
		return s.rel
	}
	if rel, err := l.relative(a.Path); err == nil {
		return rel
	}
	return path.Clean(filepath.ToSlash(a.Path))
}

// permitted refuses a call whose path leads to another file than when it was permitted: whoever was asked about
// one said nothing about the other.
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
