package local

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/text"
)

// bom is the mark that some programs put in front of UTF-8.
const bom = "\uFEFF"

// draft is a text file that is being changed. A mark at the beginning stays there. Where
// every line ends as in DOS, changes may be written with plain ends, as they are shown, and
// the file keeps its own.
type draft struct {
	body        string
	marked, dos bool
	spots       []span // what was put in, in the order of the file
	places      int
}

// span is a part of a text: from, and behind the end.
type span struct{ from, to int }

func newDraft(file string) *draft {
	d := &draft{}
	d.body, d.marked = strings.CutPrefix(file, bom)
	d.dos = strings.Contains(d.body, "\r\n") && strings.Count(d.body, "\r\n") == strings.Count(d.body, "\n")
	d.body = d.plain(d.body)
	return d
}

func (d *draft) plain(s string) string {
	if d.dos {
		return strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

// text is the whole file.
func (d *draft) text() string {
	out := d.body
	if d.dos {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	if d.marked {
		out = bom + out
	}
	return out
}

// apply makes one change.
func (d *draft) apply(c change) error {
	old, new := d.plain(c.Old), d.plain(c.New)
	n := strings.Count(d.body, old)
	switch {
	case old == "":
		return complain("old_string is empty. Use write for a new file.")
	case old == new:
		return complain("old_string and new_string are the same.")
	case n == 0:
		return complain("old_string does not stand in the file.%s", nearby(d.body, old))
	case n > 1 && !c.All:
		return complain("old_string stands in the file %d times, in lines %s. Add lines around it, or set replace_all.", n, places(d.body, old))
	}
	d.places += n
	for at := 0; n > 0; n-- {
		at += strings.Index(d.body[at:], old)
		d.put(span{at, at + len(old)}, new)
		at += len(new)
	}
	return nil
}

// put replaces a part, and moves what was put in before.
func (d *draft) put(at span, new string) {
	d.body = d.body[:at.from] + new + d.body[at.to:]
	grown := len(new) - (at.to - at.from)
	kept := d.spots[:0]
	for _, s := range d.spots {
		if s.from >= at.to {
			s = span{s.from + grown, s.to + grown}
		} else if s.to > at.from { // they touch: the new one covers both
			at.from, at.to = min(at.from, s.from), max(at.to, s.to)
			continue
		}
		kept = append(kept, s)
	}
	d.spots = append(kept, span{at.from, at.to + grown})
	slices.SortFunc(d.spots, func(a, b span) int { return a.from - b.from })
}

// mostEcho is how many lines of its work an edit shows.
const mostEcho = 40

// excerpt is the lines that are new, with one around, as read shows them.
func (d *draft) excerpt() string {
	lines := strings.Split(strings.TrimSuffix(d.body, "\n"), "\n")
	var out strings.Builder
	last, shown := -1, 0
	for _, s := range d.spots {
		first := strings.Count(d.body[:s.from], "\n")
		end := first + strings.Count(strings.TrimSuffix(d.body[s.from:s.to], "\n"), "\n")
		for n := max(0, first-1, last+1); n <= min(end+1, len(lines)-1); n++ {
			if shown++; shown > mostEcho {
				out.WriteString("[and more]\n")
				return out.String()
			}
			if last >= 0 && n > last+1 {
				out.WriteString("…\n")
			}
			out.WriteString(numberedLine(n+1, lines[n]))
			last = n
		}
	}
	return out.String()
}

// numberedLine is a line as read shows it.
func numberedLine(n int, line string) string {
	line = strings.TrimSuffix(line, "\r")
	mark := ""
	if len(line) > widestMatch {
		line, mark = string(wholeRunes([]byte(line[:widestMatch]))), " […]"
	}
	return fmt.Sprintf("%6d\t%s%s\n", n, text.Safe(line), mark)
}
