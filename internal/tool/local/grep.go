package local

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"ramet/internal/shape"
	"ramet/internal/text"
	"ramet/internal/tool"
)

//go:embed grep.md
var grepDoc string

const (
	mostMatches = 200
	widestMatch = 300 // bytes of a line that are shown
)

type grepArgs struct {
	Pattern, Path, Include string
	IgnoreCase             bool `json:"ignore_case"`
}

func (l *Local) grep() tool.Tool {
	return &one{run: l.runGrep, spec: tool.Spec{
		Name: "grep", Description: grepDoc, Access: tool.Reads,
		Args: shape.Object(
			shape.Must("pattern", shape.Text(1).With("the regular expression")),
			shape.May("path", shape.Text(1).With("the folder or file to search; the workspace if left out")),
			shape.May("include", shape.Text(1).With("which files, such as *.go")),
			shape.May("ignore_case", shape.Bool()),
		),
		Subject: l.subject,
		Summary: func(args json.RawMessage) string {
			a, _ := parse[grepArgs](args)
			return fmt.Sprintf("search %s for %s", show(l.subject(args)), text.Line(a.Pattern, 100))
		},
	}}
}

func (l *Local) runGrep(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := parse[grepArgs](c.Args)
	if err != nil {
		return tool.Answer{}, err
	}
	expr := args.Pattern
	if args.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return tool.Answer{}, complain("The pattern is no regular expression of RE2: %w", err)
	}
	include, err := l.pattern(args.Include)
	if err != nil {
		return tool.Answer{}, err
	}
	// Found in the order of the walk, which is not that of whole paths: all files
	// first, then in order until enough was found.
	type file struct{ rel, inside string }
	var files []file
	var m matches
	note, err := l.walk(ctx, args.Path, func(rel, inside string, top *spot) error {
		name := inside
		if !strings.Contains(include, "/") {
			name = path.Base(inside)
		}
		if include != "" && !doublestar.MatchUnvalidated(include, name) {
			return nil
		}
		if top.name != "." { // one file
			return m.search(ctx, re, top)
		}
		files = append(files, file{rel, inside})
		return nil
	})
	if err != nil {
		return tool.Answer{}, err
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.rel, b.rel) })
	for _, f := range files {
		if m.full {
			break
		}
		s, err := l.find(f.rel, toRead)
		if err != nil {
			continue // it went away, or is a link to elsewhere
		}
		if s.rel == f.rel && s.info != nil && s.info.Mode().IsRegular() {
			err = m.search(ctx, re, s)
		}
		s.close()
		if err != nil {
			return tool.Answer{}, err
		}
	}
	return m.answer(note), nil
}

// matches are the lines that were found.
type matches struct {
	out   strings.Builder
	n     int
	files int
	full  bool // there are more
	large int  // files that were not searched
}

// search looks through one file. One that cannot be read is passed over.
func (m *matches) search(ctx context.Context, re *regexp.Regexp, s *spot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	body, err := s.content()
	if errors.Is(err, errTooLarge) {
		m.large++
	}
	if err != nil || bytes.IndexByte(body[:min(len(body), 8<<10)], 0) >= 0 {
		return nil
	}
	before := m.n
	for n := 1; len(body) > 0; n++ {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		body = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !re.Match(line) {
			continue
		}
		if m.n == mostMatches {
			m.full = true
			break
		}
		m.n++
		cut := ""
		if len(line) > widestMatch {
			line, cut = wholeRunes(line[:widestMatch]), " […]"
		}
		fmt.Fprintf(&m.out, "%s:%d: %s%s\n", oneLine(s.rel), n, text.Safe(string(line)), cut)
	}
	if m.n > before {
		m.files++
	}
	return nil
}

func (m *matches) answer(note string) tool.Answer {
	if m.full {
		note += fmt.Sprintf("\n[there are more than %d: use a narrower pattern, path or include]", mostMatches)
	}
	if m.large > 0 {
		note += fmt.Sprintf("\n[%d files over %d MiB were not searched]", m.large, largest>>20)
	}
	if m.n == 0 {
		return tool.Answer{Text: "Nothing fits." + note}
	}
	return tool.Answer{Text: strings.TrimSuffix(m.out.String(), "\n") + note, Show: fmt.Sprintf("%d lines in %d files", m.n, m.files)}
}
