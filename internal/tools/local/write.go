package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/text"
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

// text returns the whole file.
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
		return sentenceError("old_string is empty. Use write for a new file.")
	case old == new:
		return sentenceError("old_string and new_string are the same.")
	case n == 0:
		return sentenceError("old_string is not in the file.%s", nearestPlace(d.body, old))
	case n > 1 && !c.All:
		return sentenceError("old_string is in the file %d times, in lines %s. Add lines around it, or set replace_all.", n, lineNumbers(d.body, old))
	case len(d.body)+n*(len(new)-len(old)) > largest: // before it takes the memory
		return sentenceError("That would make more than %d MiB. Use bash.", largest>>20)
	}
	d.places += n
	d.put(old, new)
	return nil
}

// put replaces a text wherever it stands, all at once: there may be a million places. What was
// put in before moves along.
func (d *draft) put(old, new string) {
	var starts []int
	for at := 0; ; {
		i := strings.Index(d.body[at:], old)
		if i < 0 {
			break
		}
		starts = append(starts, at+i)
		at += i + len(old)
	}
	grown := len(new) - len(old)
	// moved returns the new offset of a place of the body; of one within the replaced text, its beginning
	// or behind its end.
	moved := func(at, within int) int {
		before, _ := slices.BinarySearch(starts, at-len(old)+1) // those that end there or earlier
		if before < len(starts) && starts[before] < at {
			return starts[before] + before*grown + within
		}
		return at + before*grown
	}
	spots := make([]span, 0, len(d.spots)+len(starts))
	for _, s := range d.spots {
		spots = append(spots, span{moved(s.from, 0), moved(s.to, len(new))})
	}
	for i, at := range starts {
		spots = append(spots, span{at + i*grown, at + i*grown + len(new)})
	}
	slices.SortStableFunc(spots, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	d.spots = spots[:0]
	for _, s := range spots {
		if last := len(d.spots) - 1; last >= 0 && s.from < d.spots[last].to { // they touch: one covers both
			d.spots[last].to = max(d.spots[last].to, s.to)
			continue
		}
		d.spots = append(d.spots, s)
	}
	d.body = strings.ReplaceAll(d.body, old, new)
}

// mostEcho limits how many changed lines an edit shows.
const mostEcho = 40

// excerpt returns the lines that are new, with one around, as read shows them.
func (d *draft) excerpt() string {
	lines := strings.Split(strings.TrimSuffix(d.body, "\n"), "\n")
	var out strings.Builder
	last, shown := -1, 0
	first, at := 0, 0 // the line of a place
	for _, s := range d.spots {
		first += strings.Count(d.body[at:s.from], "\n")
		at = s.from
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

// numberedLine returns a line as read shows it.
func numberedLine(n int, line string) string {
	line = strings.TrimSuffix(line, "\r")
	mark := ""
	if len(line) > widestMatch {
		line, mark = string(text.WholeRunes([]byte(line[:widestMatch]))), " […]"
	}
	return fmt.Sprintf("%6d\t%s%s\n", n, text.Safe(line), mark)
}
