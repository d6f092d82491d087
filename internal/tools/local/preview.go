package local

import (
	"encoding/json"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/text"
)

// previewEdit returns the patch that an edit would make if it were carried out now. Nothing is told
// where it would be refused, or where the patch is too long to be shown as a whole: whoever
// answers for it must see all of it.
func (l *Local) previewEdit(call json.RawMessage) string {
	args, err := parseArguments[editArgs](call)
	if err != nil {
		return ""
	}
	changes, err := args.changes()
	if err != nil {
		return ""
	}
	before, rel, ok := l.standing(args.Path)
	if !ok {
		return ""
	}
	d := newDraft(before)
	for _, one := range changes {
		if d.apply(one) != nil {
			return ""
		}
	}
	return wholePatch(rel, before, d.text())
}

// previewWrite returns the patch of a write.
func (l *Local) previewWrite(call json.RawMessage) string {
	args, err := parseArguments[writeArgs](call)
	if err != nil {
		return ""
	}
	before, rel, ok := l.standing(args.Path)
	if !ok {
		return ""
	}
	return wholePatch(rel, before, args.Content)
}

// standing returns what a file holds now: nothing, where there is none yet.
func (l *Local) standing(path string) (content, rel string, ok bool) {
	s, err := l.find(path, toName)
	if err != nil {
		return "", "", false
	}
	defer s.close()
	if s.info == nil {
		return "", s.rel, true
	}
	b, err := s.content()
	return string(b), s.rel, err == nil
}

// wholePatch returns a patch, or nothing where it is too long.
func wholePatch(rel, before, after string) string {
	if len(before)+len(after) > mostDiffed {
		return ""
	}
	if d := text.Safe(udiff.Unified("a/"+showPath(rel), "b/"+showPath(rel), before, after)); len(d) <= mostShown {
		return d
	}
	return ""
}
