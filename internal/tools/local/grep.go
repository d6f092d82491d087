package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

const (
	mostMatches = 200
	widestMatch = 300 // bytes of a line that are shown
	mostContext = 20
)

type grepArgs struct {
	Pattern, Path, Include, Exclude, Mode string
	IgnoreCase                            bool `json:"ignore_case"`
	Multiline                             bool
	Context                               float64
}

func (l *Local) grep() tool.Tool {
	return &one{run: l.shelved("grep", l.runGrep), spec: tool.Describe("grep", tool.Spec{
		Args:    grepShape(),
		Subject: l.subject,
		Summary: func(args json.RawMessage) string {
			a, _ := parseArguments[grepArgs](args)
			return fmt.Sprintf("search %s for %s", showPath(l.subject(args)), text.Line(a.Pattern, 100))
		},
	})}
}

func (l *Local) runGrep(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := parseArguments[grepArgs](c.Args)
	if err != nil {
		return tool.Answer{}, err
	}
	if shelf, ok := l.shelf(args.Path); ok {
		return shelf.runGrep(ctx, c)
	}
	m, err := newMatcher(args.Pattern, args.IgnoreCase, args.Multiline)
	if err != nil {
		return tool.Answer{}, err
	}
	sel, err := l.selection(args.Include, args.Exclude)
	if err != nil {
		return tool.Answer{}, err
	}
	g := &grepping{matcher: m, sel: sel, ctx: ctx}
	w, err := l.walk(ctx, args.Path, g.visit)
	if err != nil {
		return tool.Answer{}, err
	}
	g.note = w.note()
	switch {
	case len(g.found) == 0:
		return tool.Answer{Text: g.nothing(w, args.Pattern)}, nil
	case args.Mode == "files" || args.Mode == "count":
		return g.names(args.Mode == "count"), nil
	}
	return l.show(g, int(args.Context))
}

// grepping is a search for lines. All files are searched before the first line is shown,
// for what was changed last comes first, and the answer tells how much there is.
type grepping struct {
	*matcher
	sel  selection
	ctx  context.Context
	note string

	mu       sync.Mutex
	found    []aged
	lines    int
	searched int
	left     int // files that include and exclude leave out
	large    int
}

func (g *grepping) visit(f *folder) error {
	var found []aged
	lines, searched, left, large := 0, 0, 0, 0
	for _, e := range f.files {
		switch {
		case g.ctx.Err() != nil:
			return g.ctx.Err()
		case !e.Type().IsRegular():
			continue
		case !g.sel.takes(path.Join(f.inside, e.Name())):
			left++
			continue
		}
		s, ok := f.handle(e.Name())
		if !ok {
			continue
		}
		body, err := s.text()
		if errors.Is(err, errTooLarge) {
			large++
		}
		if err != nil {
			continue // it cannot be read, or is no text
		}
		searched++
		n := 0
		for range g.matcher.lines(body) {
			n++
		}
		if n > 0 {
			lines += n
			found = append(found, aged{s.rel, s.info.ModTime().UnixNano(), n})
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = append(g.found, found...)
	g.lines, g.searched, g.left, g.large = g.lines+lines, g.searched+searched, g.left+left, g.large+large
	return nil
}

// nothing returns the answer that no line fits, and where was looked.
func (g *grepping) nothing(w *walk, pattern string) string {
	said := fmt.Sprintf("No line fits (%d files searched", g.searched)
	if g.left > 0 {
		said += fmt.Sprintf(", %d left out by include and exclude", g.left)
	}
	if w.ignored {
		said += "; ignored ones are not: name one, or its folder, as path"
	}
	said += ")."
	for _, plain := range []string{`\|`, `\(`, `\{`} {
		if strings.Contains(pattern, plain) {
			said += fmt.Sprintf(" In RE2 %s is a plain %s.", plain, plain[1:])
			break
		}
	}
	return said + g.about()
}

// names returns the files, with or without how often the pattern fits.
func (g *grepping) names(count bool) tool.Answer {
	slices.SortFunc(g.found, compareAge)
	var out strings.Builder
	for _, f := range g.found[:min(len(g.found), mostPaths)] {
		out.WriteString(oneLine(f.path))
		if count {
			fmt.Fprintf(&out, ": %d", f.count)
		}
		out.WriteByte('\n')
	}
	if n := len(g.found) - mostPaths; n > 0 {
		fmt.Fprintf(&out, "[%d more files are left out: use a narrower pattern, path or include]\n", n)
	}
	if count {
		fmt.Fprintf(&out, "[%s]\n", g.total())
	}
	return tool.Answer{Text: strings.TrimSuffix(out.String(), "\n") + g.about(), Show: g.total()}
}

func (g *grepping) total() string {
	return text.Count(g.lines, "line") + " in " + text.Count(len(g.found), "file")
}

// about returns what was not searched.
func (g *grepping) about() string {
	if g.large > 0 {
		g.note += fmt.Sprintf("\n[%d files over %d MiB were not searched]", g.large, largest>>20)
	}
	return g.note
}
