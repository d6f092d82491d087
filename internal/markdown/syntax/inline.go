package syntax

import "bytes"

// inliner reads the text of a block.
type inliner struct {
	*nodes
	src         []byte
	with        Features
	definitions map[string]*Node
	notes       map[string]*Node

	parent *Node
	text   []byte  // the lines of the block
	pieces []piece // where they are from
	piece  int     // the one that was asked for last
	buffer []byte

	at       int
	from     int // where text begins that is no node yet
	begun    bool
	marks    []mark
	brackets []bracket
	dead     int // so many of the brackets begin no links: a link stands in them

	ticks   []tick
	ticksOf []int // by length: the first run of that length that was not passed, 1 more than its number
	counted bool
	missing [6]bool // by ending: nothing of what follows has it
	nobody  int     // before this place no address of somebody begins
	meter
}

// meter counts the bytes that were looked at, those that were looked at again included.
type meter struct{ looked int }

// piece is a line of the text: where it stands in it, and in the source.
type piece struct{ at, from int }

// load makes one text of lines. Lines that follow each other in the source need no copy.
func (p *inliner) load(lines []Line) {
	p.pieces, p.piece = p.pieces[:0], 0
	last := len(lines) - 1
	end := trim(p.src, lines[last].Span).To
	whole := true
	for i := range last {
		whole = whole && lines[i].To+1 == lines[i+1].From
	}
	if whole {
		p.text = p.src[lines[0].From:max(end, lines[0].From)]
		p.pieces = append(p.pieces, piece{0, lines[0].From})
		return
	}
	p.buffer = p.buffer[:0]
	for i, l := range lines {
		p.pieces = append(p.pieces, piece{len(p.buffer), l.From})
		if i == last {
			p.buffer = append(p.buffer, p.src[l.From:max(end, l.From)]...)
			break
		}
		p.buffer = append(append(p.buffer, p.src[l.From:l.To]...), '\n')
	}
	p.text = p.buffer
}

// where is the place in the source of a place in the text.
func (p *inliner) where(at int) int {
	for p.piece+1 < len(p.pieces) && p.pieces[p.piece+1].at <= at {
		p.piece++
	}
	for p.pieces[p.piece].at > at {
		p.piece--
	}
	return p.pieces[p.piece].from + at - p.pieces[p.piece].at
}

// span is the place in the source of a piece of one line.
func (p *inliner) span(from, to int) Span {
	at := p.where(from)
	return Span{at, at + to - from}
}

// lines are the places in the source of a piece of several lines.
func (p *inliner) lines(from, to int) (out []Line) {
	for from < to {
		end := to
		if i := bytes.IndexByte(p.text[from:to], '\n'); i >= 0 {
			end = from + i + 1
		}
		out = append(out, Line{Span: p.span(from, end)})
		from = end
	}
	return out
}

// block reads what stands in a block.
func (p *inliner) block(n *Node) {
	if len(n.Lines) == 0 {
		return
	}
	p.load(n.Lines)
	p.parent = n
	p.at, p.from, p.begun = 0, 0, true
	p.marks, p.brackets, p.dead = p.marks[:0], p.brackets[:0], 0
	p.counted, p.missing, p.nobody = false, [6]bool{}, 0
	p.looked += len(p.text)
	p.box()
	for p.at < len(p.text) {
		p.step()
	}
	p.flush(len(p.text))
	p.emphasize(0)
}

// step reads a piece of text, or a mark.
func (p *inliner) step() {
	if p.begun && p.with&Addresses != 0 && len(p.brackets) == 0 && p.address() {
		return
	}
	p.begun = false
	switch c := p.text[p.at]; c {
	case '\n':
		p.lineEnd()
	case '\\':
		p.backslash()
	case '`':
		p.code()
	case '*', '_':
		p.run(c)
	case '~':
		if p.with&Strikes == 0 {
			p.at++
			return
		}
		p.run(c)
	case '!', '[':
		p.openBracket(c)
	case ']':
		p.closeBracket()
	case '<':
		p.angle()
	default:
		p.at++
		p.begun = c == '(' || isSpace(c)
	}
}

// flush makes a node of the text before a place.
func (p *inliner) flush(to int) {
	if to > p.from {
		p.parent.add(p.node(Text, p.span(p.from, to)))
	}
	p.from = to
}

// found adds a node that stands for the text up to a place.
func (p *inliner) found(n *Node, to int) {
	p.flush(p.at)
	p.parent.add(n)
	p.at, p.from, p.begun = to, to, true
}

// lineEnd reads the end of a line. Two spaces before it, or a backslash, end it on the page too.
func (p *inliner) lineEnd() {
	end := p.at
	for end > p.from && isSpace(p.text[end-1]) {
		end--
	}
	kind := Soft
	if bytes.HasSuffix(bytes.TrimSuffix(p.text[end:p.at], []byte("\r")), []byte("  ")) {
		kind = Hard
	}
	p.breakLine(kind, end)
}

func (p *inliner) breakLine(k Kind, textEnd int) {
	p.flush(textEnd)
	p.parent.add(p.node(k, p.span(p.at, p.at)))
	for p.at++; p.at < len(p.text) && isSpace(p.text[p.at]); p.at++ {
	}
	p.from, p.begun = p.at, true
}

func (p *inliner) backslash() {
	end := p.at
	p.at++
	switch {
	case p.at == len(p.text):
	case p.text[p.at] == '\n':
		p.breakLine(Hard, end)
	case isMark(p.text[p.at]):
		p.at++
	}
}

// box reads the box of a task, which an item begins with. A space follows it: "- [x](y)" is a link.
func (p *inliner) box() {
	n, b := p.parent, p.text
	if p.with&Boxes == 0 || n.Kind != Paragraph || n.Parent == nil || n.Parent.Kind != Item || n.Prev != nil {
		return
	}
	if len(b) < 3 || b[0] != '[' || b[2] != ']' || len(b) > 3 && !isSpace(b[3]) {
		return
	}
	checked := b[1]|0x20 == 'x'
	if !checked && !isSpace(b[1]) {
		return
	}
	box := p.node(Box, p.span(0, 3))
	box.Done = checked
	p.found(box, 3+run(b[3:], isSpace))
}
