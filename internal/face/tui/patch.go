package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/text"
	"ramet/internal/face/tui/markdown"
)

var hunkHead = text.Regexp(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

type patch struct {
	theme        markdown.Theme
	wide         int            // of the numbers
	was, is      int            // the next line on either side; both 0: outside of a hunk
	before, then *markdown.Code // of the file; nil: its language is not known
}

// patched draws the lines of a patch: with the numbers of the new file, or of the old one where
// a line is gone, the code in its colours, and the words marked in which a line differs from the
// one that it replaces. lines are harmless.
func patched(lines []string, theme markdown.Theme) []string {
	out := make([]string, 0, len(lines))
	p := patch{theme: theme, wide: numbersWide(lines)}
	if p.wide == 0 {
		for _, l := range lines {
			out = append(out, diffTone(l).of(l))
		}
		return out
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch {
		case p.head(l):
			out = append(out, strings.Repeat(" ", p.wide+1)+diffTone(l).of(l))
		case l[0] != '-' && l[0] != '+':
			out = append(out, p.same(l))
		default:
			gone := signed(lines[i:], '-')
			come := signed(lines[i+len(gone):], '+')
			out = append(out, p.replaced(gone, come)...)
			i += len(gone) + len(come) - 1
		}
	}
	return out
}

// patchOf draws a patch without its head, which names the file once more. Nothing is cut.
func patchOf(patch string, w int, theme markdown.Theme) (out []string) {
	lines := strings.Split(strings.TrimRight(clean(patch), "\n"), "\n")
	for i, l := range patched(lines, theme) {
		if !strings.HasPrefix(lines[i], "--- ") && !strings.HasPrefix(lines[i], "+++ ") || i > 1 {
			out = append(out, pieces(l, w, true)...)
		}
	}
	return out
}

// head takes a line that belongs to neither side; false: it does.
func (p *patch) head(l string) bool {
	if m := hunkHead().FindStringSubmatch(l); m != nil {
		fmt.Sscan(m[1], &p.was)
		fmt.Sscan(m[2], &p.is)
		for _, c := range []*markdown.Code{p.before, p.then} {
			if c != nil {
				c.Again()
			}
		}
		return true
	}
	inside := p.was != 0 || p.is != 0
	switch {
	case strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "--- "):
		p.was, p.is, p.before, p.then = 0, 0, nil, nil
	case strings.HasPrefix(l, "+++ "):
		file, _, _ := strings.Cut(strings.TrimPrefix(l, "+++ "), "\t")
		p.before, p.then = markdown.CodeOf(file), markdown.CodeOf(file)
	case inside && l != "" && l[0] != '\\':
		return false
	}
	return true
}

// same draws a line that stands on both sides.
func (p *patch) same(l string) string {
	n := p.is
	p.was, p.is = p.was+1, p.is+1
	if p.then == nil || l[0] != ' ' {
		return numbered(n, p.wide, faint.of(l))
	}
	p.before.Line(l[1:], p.theme)
	out := " "
	for _, s := range p.then.Line(l[1:], p.theme) {
		out += style(s.Style).of(s.Text)
	}
	return numbered(n, p.wide, out)
}

// replaced draws lines that are gone and those that came instead. Where there are as many, only
// what differs is marked.
func (p *patch) replaced(gone, come []string) (out []string) {
	pairs := len(gone) == len(come)
	part := func(l string, other func() string) (from, to int) {
		if !pairs {
			return 1, len(l)
		}
		return differs(l, other())
	}
	for i, l := range gone {
		from, to := part(l, func() string { return come[i] })
		out = append(out, numbered(p.was, p.wide, p.changed(bad, p.before, p.theme.RemovedGround, l, from, to, pairs)))
		p.was++
	}
	for i, l := range come {
		from, to := part(l, func() string { return gone[i] })
		out = append(out, numbered(p.is, p.wide, p.changed(good, p.then, p.theme.AddedGround, l, from, to, pairs)))
		p.is++
	}
	return out
}

// changed draws a line of one side: its code on a ground that tells which, or all of it in one
// colour where there is no such ground or the language is not known.
func (p *patch) changed(st style, code *markdown.Code, ground markdown.Style, l string, from, to int, mark bool) string {
	if code == nil || ground == "" {
		return markedPart(st, l, from, to, mark)
	}
	mark = mark && from < to && !(from == 1 && to == len(l))
	on := style(ground)
	out, at := (st + ";" + on).of(l[:1]), 1
	for _, s := range code.Line(l[1:], p.theme) {
		st := on
		if s.Style != "" {
			st = style(s.Style) + ";" + on
		}
		for text := s.Text; text != ""; {
			end, marked := len(text), false
			switch { // up to where the mark begins, or ends
			case mark && at < from:
				end = min(end, from-at)
			case mark && at < to:
				end, marked = min(end, to-at), true
			}
			if marked {
				out += (st + ";7").of(text[:end])
			} else {
				out += st.of(text[:end])
			}
			text, at = text[end:], at+end
		}
	}
	return out
}

// signed are the first lines that begin with a sign.
func signed(lines []string, sign byte) []string {
	n := 0
	for n < len(lines) && lines[n] != "" && lines[n][0] == sign {
		n++
	}
	return lines[:n]
}

func numbered(n, wide int, l string) string {
	return faint.of(fmt.Sprintf("%*d ", wide, n)) + l
}

// numbersWide is how many digits the largest number has; 0: no hunk is there.
func numbersWide(lines []string) int {
	most, at := 0, 0
	for _, l := range lines {
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			var a, b int
			fmt.Sscan(m[1], &a)
			fmt.Sscan(m[2], &b)
			at = max(a, b)
		} else if at > 0 {
			at++
		}
		most = max(most, at)
	}
	if most == 0 {
		return 0
	}
	return len(fmt.Sprint(most))
}

// differs is the part of a line that the other one has not, behind their signs: what stands
// before and behind it is the same in both.
func differs(l, other string) (from, to int) {
	from = 1
	for from < len(l) && from < len(other) && l[from] == other[from] {
		from++
	}
	for from > 1 && from < len(l) && !utf8.RuneStart(l[from]) {
		from--
	}
	to = len(l)
	for end := len(other); to > from && end > from && l[to-1] == other[end-1]; end-- {
		to--
	}
	for to < len(l) && !utf8.RuneStart(l[to]) {
		to++
	}
	return from, to
}

func markedPart(st style, l string, from, to int, mark bool) string {
	if !mark || from >= to || from == 1 && to == len(l) {
		return st.of(l)
	}
	return st.of(l[:from]) + (st + ";7").of(l[from:to]) + st.of(l[to:])
}

func diffTone(l string) style {
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
		return bold
	case strings.HasPrefix(l, "+"):
		return good
	case strings.HasPrefix(l, "-"):
		return bad
	case strings.HasPrefix(l, "@@"):
		return accent
	}
	return plain
}
