package local

import (
	"encoding/json"
	"path"
	"path/filepath"
)

type pathArgs struct{ Path string }

// subject is the file that a call means, links resolved. A path that leads nowhere
// stays as it is; running it says why.
func (l *Local) subject(args json.RawMessage) string {
	a, err := parse[pathArgs](args)
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

// summary is a verb and the file.
func (l *Local) summary(verb string) func(json.RawMessage) string {
	return func(args json.RawMessage) string { return verb + " " + show(l.subject(args)) }
}
