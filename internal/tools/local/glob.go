package local

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

const mostPaths = 1000

type globArgs struct{ Pattern, Path, Exclude string }

func (l *Local) glob() tool.Tool {
	return &one{run: l.shelved("glob", withArguments(l.runGlob)), spec: tool.Describe("glob", tool.Spec{
		Args:    globShape,
		Subject: l.subject,
		Summary: summarise(func(a globArgs) string {
			return fmt.Sprintf("find %s in %s", text.Line(a.Pattern, 100), showPath(l.subjectOf(a.Path)))
		}),
	})}
}

func (l *Local) runGlob(ctx context.Context, c tool.Call, args globArgs) (tool.Answer, error) {
	pattern, err := l.pattern(args.Pattern)
	if err != nil {
		return tool.Answer{}, err
	}
	sel, err := l.selection("", args.Exclude)
	if err != nil {
		return tool.Answer{}, err
	}
	g := globbing{pattern: pattern, sel: sel}
	w, err := l.walk(ctx, args.Path, g.visit)
	if err != nil {
		return tool.Answer{}, err
	}
	return g.answer(w), nil
}

// globbing is a search for names.
type globbing struct {
	pattern string
	sel     selection

	mu    sync.Mutex
	found []aged
	seen  int // files that were looked at
	deep  int // those that would fit in some folder below
}

// aged is a file with when it was changed.
type aged struct {
	path  string
	when  int64
	count int // of what was found in it
}

// compareAge puts files in order: what was changed last comes first.
func compareAge(a, b aged) int {
	return cmp.Or(cmp.Compare(b.when, a.when), strings.Compare(a.path, b.path))
}

func (g *globbing) visit(f *folder) error {
	var found []aged
	deep := 0
	for _, e := range f.files {
		inside := path.Join(f.inside, e.Name())
		if !g.sel.takes(inside) {
			continue
		}
		if !doublestar.MatchUnvalidated(g.pattern, inside) {
			if !strings.Contains(g.pattern, "/") && doublestar.MatchUnvalidated(g.pattern, e.Name()) {
				deep++
			}
			continue
		}
		if info, err := f.dir.Lstat(e.Name()); err == nil {
			found = append(found, aged{path: path.Join(f.rel, e.Name()), when: info.ModTime().UnixNano()})
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = append(g.found, found...)
	g.seen += len(f.files)
	g.deep += deep
	return nil
}

func (g *globbing) answer(w *walk) tool.Answer {
	note := w.note()
	if len(g.found) == 0 {
		said := fmt.Sprintf("No file matches (%d checked).", g.seen)
		if w.ignored {
			said = fmt.Sprintf("No file matches (%d checked, without ignored ones; name an ignored folder as path to search it).", g.seen)
		}
		if g.deep > 0 {
			said += fmt.Sprintf(" In folders below %d would: **/%s finds them.", g.deep, g.pattern)
		}
		return tool.Answer{Text: said + note}
	}
	slices.SortFunc(g.found, compareAge)
	n := len(g.found)
	if n > mostPaths {
		g.found = g.found[:mostPaths]
		note += fmt.Sprintf("\n[%d more are left out: use a narrower pattern]", n-mostPaths)
	}
	lines := make([]string, len(g.found))
	for i, f := range g.found {
		lines[i] = oneLine(f.path)
	}
	return tool.Answer{Text: strings.Join(lines, "\n") + note, Show: fmt.Sprintf("%d files", n)}
}

// mostChoices limits how many patterns without braces one pattern may stand for: each
// is tried for each name.
const mostChoices = 1000

// pattern checks a pattern, and takes away what a model may put in front: the root
// itself, or ./
func (l *Local) pattern(p string) (string, error) {
	clean := filepath.ToSlash(p)
	clean = strings.TrimPrefix(clean, strings.TrimSuffix(filepath.ToSlash(l.o.Root), "/")+"/")
	clean = strings.TrimPrefix(clean, "./")
	switch {
	case strings.HasPrefix(clean, "/"), clean == "..", strings.HasPrefix(clean, "../"):
		// Nothing that is looked at would fit, which says nothing of what is there.
		return "", sentenceError("%q leads out of the workspace, %s: patterns begin in it, without a slash. Nothing was searched.", text.Line(p, 100), l.o.Root)
	case !doublestar.ValidatePattern(clean):
		return "", sentenceError("%q is not a valid pattern: look at its brackets and braces.", text.Line(p, 100))
	case countBraces(clean) > mostChoices:
		return "", sentenceError("%q has too many braces.", text.Line(p, 100))
	}
	return clean, nil
}

// countBraces counts, or overstates, what the braces of a pattern stand for.
func countBraces(pattern string) int {
	all := 1
	var open []int // the alternatives in each brace that is open
	for _, c := range pattern {
		switch n := len(open); {
		case c == '{':
			open = append(open, 1)
		case c == ',' && n > 0:
			open[n-1]++
		case c == '}' && n > 0:
			if all *= open[n-1]; all > mostChoices {
				return all
			}
			open = open[:n-1]
		}
	}
	return all
}

// oneLine returns a path that takes up one line, whatever is in it.
func oneLine(p string) string {
	if strings.ContainsAny(p, "\n\t") {
		return fmt.Sprintf("%q", p)
	}
	return text.Safe(p)
}

// selection is which files of a walk are meant, by their names.
type selection struct{ include, exclude string }

// selection reads what a call says. A "!" in front of what to include is what to exclude;
// several patterns can stand behind one another with commas.
func (l *Local) selection(include, exclude string) (selection, error) {
	var in, out []string
	for _, p := range text.SplitOutside(include, ",", "{}") {
		if rest, no := strings.CutPrefix(p, "!"); no {
			out = append(out, rest)
		} else {
			in = append(in, p)
		}
	}
	for _, p := range text.SplitOutside(exclude, ",", "{}") {
		out = append(out, strings.TrimPrefix(p, "!"))
	}
	var s selection
	var err error
	if s.include, err = l.oneOf(in); err != nil {
		return s, err
	}
	s.exclude, err = l.oneOf(out)
	return s, err
}

// oneOf returns one pattern for several.
func (l *Local) oneOf(patterns []string) (string, error) {
	for i, p := range patterns {
		one, err := l.pattern(p)
		if err != nil {
			return "", err
		}
		if !strings.Contains(one, "/") {
			one = "**/" + one // a name, in whatever folder
		} else if strings.HasSuffix(one, "/") {
			one += "**"
		}
		patterns[i] = one
	}
	if len(patterns) < 2 {
		return strings.Join(patterns, ""), nil
	}
	return l.pattern("{" + strings.Join(patterns, ",") + "}")
}

// takes reports whether a file is meant.
func (s selection) takes(inside string) bool {
	inside = path.Clean(inside)
	return (s.include == "" || doublestar.MatchUnvalidated(s.include, inside)) &&
		(s.exclude == "" || !doublestar.MatchUnvalidated(s.exclude, inside))
}
