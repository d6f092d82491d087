package syntax

import "bytes"

// cursor is a place in a line. Tabs reach to columns that are multiples of four, and a mark before
// one may take a part of it.
type cursor struct {
	src    []byte
	from   int // where the line begins
	to     int // where it ends, before its end of line
	after  int // where the next one begins
	at     int
	column int
	part   bool // a part of the tab at this place is taken

	next   int // the first place that is no space; behind from: it is not known
	nextAt int // its column
}

// line goes to the line that begins at a place.
func (c *cursor) line(from int) {
	end := bytes.IndexByte(c.src[from:], '\n')
	c.from, c.at, c.column, c.part, c.next = from, from, 0, false, -1
	if end < 0 {
		c.to, c.after = len(c.src), len(c.src)
		return
	}
	c.to, c.after = from+end, from+end+1
	if c.to > from && c.src[c.to-1] == '\r' {
		c.to--
	}
}

// indent is how many columns of space stand before the first mark or letter.
func (c *cursor) indent() int {
	if c.next < c.at {
		c.next, c.nextAt = c.at, c.column
		for ; c.next < c.to; c.next++ {
			switch c.src[c.next] {
			case ' ':
				c.nextAt++
				continue
			case '\t':
				c.nextAt += 4 - c.nextAt%4
				continue
			}
			break
		}
	}
	return c.nextAt - c.column
}

func (c *cursor) blank() bool {
	c.indent()
	return c.next == c.to
}

// rest is what follows the space.
func (c *cursor) rest() []byte {
	c.indent()
	return c.src[c.next:c.to]
}

// skip takes so many columns of space.
func (c *cursor) skip(columns int) {
	for columns > 0 && c.at < c.to {
		width := 1
		if c.src[c.at] == '\t' {
			width = 4 - c.column%4
		}
		if width > columns {
			c.column, c.part = c.column+columns, true
			return
		}
		c.column, c.part = c.column+width, false
		columns -= width
		c.at++
	}
}

// pass takes the space and so many bytes of what follows it.
func (c *cursor) pass(n int) {
	c.indent()
	c.at, c.column, c.part = c.next+n, c.nextAt+n, false
}

// left is the line from here on, with its end.
func (c *cursor) left() Line {
	l := Line{Span: Span{c.at, c.after}}
	if c.part {
		l.From, l.Pad = c.at+1, 4-c.column%4
	}
	return l
}
