package pages

import (
	"bytes"
	"regexp"
	"sort"

	"ramet/internal/docs"
	"ramet/internal/docs/markdown"
)

// cutter writes a page without its markers, line by line.
type cutter struct {
	page    *markdown.Page
	markers []marker
	out     bytes.Buffer
	cites   []docs.CiteAt

	lines   int      // written
	last    int      // the last of them that is not blank; 0: none yet
	moved   []int    // where each line of the draft is now
	waiting []string // claims that no line of text was found for yet
}

func (c *cutter) run() {
	sort.Slice(c.markers, func(i, j int) bool { return c.markers[i].From < c.markers[j].From })
	src, at := c.page.Source, 0
	n := 0 // the next marker
	var before []byte
	gap := false // a line of markers alone was left out just now
	for at < len(src) {
		end := len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		var line []byte
		var claims []string
		for from := at; ; n++ {
			if n == len(c.markers) || c.markers[n].From >= end {
				line = append(line, src[from:end]...)
				break
			}
			// The spaces before a marker are there for its sake.
			line = append(line, src[from:c.markers[n].From]...)
			claims = append(claims, c.markers[n].claims...)
			from = c.markers[n].To
			if rest := bytes.TrimLeft(src[from:end], " \t"); len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r' && !bytes.HasPrefix(rest, []byte("<!--")) {
				// Text goes on. At the start of a line the spaces behind the marker are not
				// the text's, which could become code by them; within it, one of the two is.
				switch {
				case onlyFrame(line) || listItem(line):
					from = end - len(rest)
				case bytes.HasSuffix(line, []byte(" ")) && src[from] == ' ':
					line = bytes.TrimRight(line, " \t")
				}
				continue
			}
			line = bytes.TrimRight(line, " \t")
		}
		at = end
		switch {
		case len(claims) > 0 && onlyFrame(line):
			c.waiting = append(c.waiting, claims...)
			c.moved = append(c.moved, c.lines+1)
			c.settle()
			gap = true
			continue
		case gap && blank(line) && blank(before):
			c.moved = append(c.moved, c.lines+1)
			continue // one of the two that stood around it is enough
		case gap && !blank(line) && !blank(before) && !joins(before, line):
			c.write(newlineOf(line))
		}
		gap = false
		c.write(line)
		before = line
		c.moved = append(c.moved, c.lines)
		if !blank(line) {
			c.last = c.lines
		}
		c.waiting = append(c.waiting, claims...)
		c.settle()
	}
	c.tidyEnd()
}

// settle makes citations of what waits for a line of text.
func (c *cutter) settle() {
	if c.last == 0 {
		return
	}
	for _, id := range c.waiting {
		c.cites = append(c.cites, docs.CiteAt{Line: c.last, Claim: id})
	}
	c.waiting = nil
}

func (c *cutter) write(line []byte) {
	c.out.Write(line)
	c.lines++
}

// tidyEnd takes away the blank lines that markers at the end left behind.
func (c *cutter) tidyEnd() {
	page := c.out.Bytes()
	if c.last == 0 || c.last == c.lines || !endsBlank(page) {
		return
	}
	source := bytes.TrimRight(c.page.Source, " \t\r\n")
	last := c.markers[len(c.markers)-1]
	if last.To != len(source) {
		return // the draft itself ends like this
	}
	rest := bytes.TrimRight(page, " \t\r\n")
	line := page[len(rest):]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		c.out.Truncate(len(rest) + i + 1)
	}
}

// now is where a line of the draft is in the page.
func (c *cutter) now(line int) int {
	if line < 1 || line > len(c.moved) {
		return max(c.lines, 1)
	}
	return max(min(c.moved[line-1], c.lines), 1)
}

var (
	frameForm = regexp.MustCompile(`^[ \t>]*$`)
	itemForm  = regexp.MustCompile(`^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]*$`)
	beginForm = regexp.MustCompile(`^[ \t>]*(?:[-*+][ \t]|[0-9]{1,9}[.)][ \t]|#{1,6}[ \t]|` + "```" + `|~~~)`)
)

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// onlyFrame says that a line holds nothing but the marks of quotes around it.
func onlyFrame(line []byte) bool { return frameForm.Match(bytes.TrimRight(line, "\r\n")) }

func listItem(line []byte) bool { return itemForm.Match(bytes.TrimRight(line, "\r\n")) }

// joins says whether two lines may become neighbours: the second begins something of its
// own, or both are rows of a table. Else a paragraph would grow, or a rule below it
// would make a heading of it.
func joins(before, line []byte) bool {
	row := func(l []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(l, " \t>"), []byte("|")) }
	return beginForm.Match(line) || row(before) && row(line)
}

func newlineOf(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return []byte("\r\n")
	}
	return []byte("\n")
}

func endsBlank(page []byte) bool {
	return bytes.HasSuffix(page, []byte("\n\n")) || bytes.HasSuffix(page, []byte("\n\r\n")) || blank(page)
}
