package local

import (
	"context"
	"fmt"
	"strings"

	"ramet/internal/turn/tool"
)

type writeArgs struct{ Path, Content string }

func (l *Local) write() tool.Tool {
	return l.remember(withArguments(l.runWrite), tool.Describe("write", tool.Spec{
		Args:    writeShape,
		Subject: l.subject, Preview: l.previewWrite,
		Summary: summarise(func(a writeArgs) string {
			return fmt.Sprintf("write %s (%s)", showPath(l.subjectOf(a.Path)), sizeOf(a.Content))
		}),
	}))
}

func (l *Local) runWrite(_ context.Context, c tool.Call, args writeArgs) (tool.Answer, error) {
	if len(args.Content) > largest {
		return tool.Answer{}, sentenceError("That is more than %d MiB. Use bash.", largest>>20)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.permitted(c); err != nil { // before folders are made
		return tool.Answer{}, err
	}
	s, err := l.find(args.Path, toMake)
	if err != nil {
		return tool.Answer{}, err
	}
	defer s.close()
	if err := s.permitted(c); err != nil {
		return tool.Answer{}, err
	}
	if s.info == nil {
		if strings.HasSuffix(args.Path, "/") {
			return tool.Answer{}, sentenceError("%s names a folder. Give the file a name.", showPath(args.Path))
		}
		if err := l.replace(s, nil, []byte(args.Content)); err != nil {
			return tool.Answer{}, err
		}
		return tool.Answer{Text: fmt.Sprintf("Made %s (%s).", showPath(s.rel), sizeOf(args.Content)), Show: diffForPeople(s.rel, "", args.Content), Memo: l.sawMemo(s.rel)}, nil
	}
	old, err := l.unchanged(s)
	if err != nil {
		return tool.Answer{}, err
	}
	if string(old) == args.Content {
		return tool.Answer{Text: fmt.Sprintf("%s has this content already.", showPath(s.rel))}, nil
	}
	if err := l.replace(s, old, []byte(args.Content)); err != nil {
		return tool.Answer{}, err
	}
	return tool.Answer{Text: fmt.Sprintf("Replaced %s (%s).", showPath(s.rel), sizeOf(args.Content)), Show: diffForPeople(s.rel, string(old), args.Content), Memo: l.sawMemo(s.rel)}, nil
}

// sizeOf returns how long a text is, for people.
func sizeOf(s string) string {
	lines := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		lines++
	}
	if lines == 1 {
		return fmt.Sprintf("1 line, %d bytes", len(s))
	}
	return fmt.Sprintf("%d lines, %d bytes", lines, len(s))
}
