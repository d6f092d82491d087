package local

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

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
			line, cut = wholeRunes(line[:widestMatch]), " […]"
		}
		fmt.Fprintf(&p.out, "%d%s %s%s\n", n+1, mark, text.Safe(string(line)), cut)
	}
}
