package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
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
	return &one{run: l.reading(l.shelved("grep", withArguments(l.runGrep))), spec: tool.Describe("grep", tool.Spec{
		Args:    grepShape,
		Subject: l.subject,
		Summary: summarise(func(a grepArgs) string {
			return fmt.Sprintf("search %s for %s", showPath(l.subjectOf(a.Path)), text.Line(a.Pattern, 100))
		}),
	})}
}

func (l *Local) runGrep(ctx context.Context, c tool.Call, args grepArgs) (tool.Answer, error) {
	if shelf, ok := l.shelf(args.Path); ok {
		return shelf.runGrep(ctx, c, args)
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
	answer, err := l.show(g, int(args.Context))
	for _, f := range g.found {
		answer.Foreign = l.addSource(answer.Foreign, l.o.Root, f.path)
	}
	return answer, err
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

// show returns the lines that were found, under the name of their file.
func (l *Local) show(g *grepping, context int) (tool.Answer, error) {
	slices.SortFunc(g.found, compareAge)
	p := &excerpt{around: context}
	for _, f := range g.found {
		if p.lines == mostMatches {
			break
		}
		s, err := l.find(f.path, toRead)
		if err != nil {
			continue // it went away
		}
		if body, err := s.text(); err == nil && s.rel == f.path {
			p.file(f.path, body, g.matcher)
		}
		s.close()
		if err := g.ctx.Err(); err != nil {
			return tool.Answer{}, err
		}
	}
	note := g.about()
	if p.lines < g.lines {
		note = fmt.Sprintf("\n[the first %d of %s: use a narrower pattern, path or include, or mode files]", p.lines, g.total()) + note
	}
	return tool.Answer{Text: strings.TrimSuffix(p.out.String(), "\n") + note, Show: g.total()}, nil
}

// excerpt is lines of files, with some around them.
type excerpt struct {
	around int
	out    strings.Builder
	lines  int // that fit
}

// file puts the lines of one file into the excerpt, under its name: those that fit with a
// colon behind their number, those around them with a dash.
func (p *excerpt) file(name string, body []byte, m *matcher) {
	var ends []int // of each line, as far as they are needed
	for at := 0; at < len(body); {
		end := lineEnd(body, at)
		ends = append(ends, end)
		at = end + 1
	}
	fits := map[int]bool{}
	var numbers []int
	for from, to := range m.lines(body) {
		if p.lines == mostMatches {
			break
		}
		p.lines++
		first, _ := slices.BinarySearch(ends, from)
		last, _ := slices.BinarySearch(ends, to)
		for n := max(0, first-p.around); n <= min(last+p.around, len(ends)-1) && n <= first+mostMatches; n++ {
			if n >= first && n <= last {
				fits[n] = true
			}
			if len(numbers) == 0 || n > numbers[len(numbers)-1] {
				numbers = append(numbers, n)
			}
		}
	}
	if len(numbers) == 0 {
		return
	}
	fmt.Fprintf(&p.out, "%s\n", oneLine(name))
	for i, n := range numbers {
		if i > 0 && p.around > 0 && n != numbers[i-1]+1 {
			p.out.WriteString("--\n")
		}
		from := 0
		if n > 0 {
			from = ends[n-1] + 1
		}
		line, cut, mark := bytes.TrimSuffix(body[from:ends[n]], []byte("\r")), "", "-"
		if fits[n] {
			mark = ":"
		}
		if len(line) > widestMatch {
			line, cut = text.WholeRunes(line[:widestMatch]), " […]"
		}
		fmt.Fprintf(&p.out, "%d%s %s%s\n", n+1, mark, text.Safe(string(line)), cut)
	}
}

// matcher finds the lines that a pattern fits.
type matcher struct {
	re    *regexp.Regexp
	must  []byte // a text that is in every match; empty: none is known
	multi bool   // a match may span lines
}

// newMatcher compiles a pattern of RE2. One that names the end of a line spans lines.
func newMatcher(pattern string, ignoreCase, multi bool) (*matcher, error) {
	flags := ""
	if ignoreCase {
		flags = "i"
	}
	if multi {
		flags += "s"
	}
	if multi = multi || strings.Contains(pattern, `\n`) || strings.Contains(pattern, "\n"); multi {
		flags += "m"
	}
	expr := pattern
	if flags != "" {
		expr = "(?" + flags + ")" + pattern
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, sentenceError("The pattern is not a regular expression of RE2, which has no look-around and no references: %w. A backslash in front makes a character plain.", err)
	}
	m := &matcher{re: re, multi: multi}
	if must, _ := re.LiteralPrefix(); !strings.ContainsRune(must, '\uFFFD') { // which fits bytes that are no UTF-8
		m.must = []byte(must)
	}
	return m, nil
}

// lines returns the places of what fits in a text: whole lines, from the first byte to the end
// of the last without its line end.
func (m *matcher) lines(body []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if len(m.must) > 0 && !bytes.Contains(body, m.must) {
			return
		}
		if m.multi {
			m.spans(body, yield)
			return
		}
		for at := 0; at < len(body); {
			if len(m.must) > 0 { // on to the next line that can fit
				i := bytes.Index(body[at:], m.must)
				if i < 0 {
					return
				}
				at += bytes.LastIndexByte(body[at:at+i], '\n') + 1
			}
			end := lineEnd(body, at)
			if m.re.Match(bytes.TrimSuffix(body[at:end], []byte("\r"))) && !yield(at, end) {
				return
			}
			at = end + 1
		}
	}
}

// spans finds matches that may go over several lines.
func (m *matcher) spans(body []byte, yield func(from, to int) bool) {
	for at := 0; at < len(body); {
		place := m.re.FindIndex(body[at:])
		if place == nil {
			return
		}
		from, last := at+place[0], at+max(place[0], place[1]-1)
		from = bytes.LastIndexByte(body[:from], '\n') + 1
		end := lineEnd(body, min(last, len(body)))
		if from >= len(body) || !yield(max(from, at), end) {
			return
		}
		at = end + 1
	}
}

func lineEnd(body []byte, at int) int {
	if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(body)
}
