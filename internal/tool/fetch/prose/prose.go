// Package prose writes a tree of HTML as Markdown, for a reader that has no screen.
//
// Promises:
//
//   - What people do not see is not written, nor what is around the text on every page of a site:
//     navigation, forms, buttons, footers, drawings.
//   - Headings, lists, quotes, code, tables, links and pictures stay what they are; addresses are absolute.
//   - Text that would be read as marks of Markdown is escaped.
//   - Tables with more than lines in their cells are pages' way to lay things out: they are written as text.
//   - Each part of the tree is written once, and no line has more than a few marks before it: the time and
//     the length of what is written grow as the page does.
package prose

import (
	"bytes"
	"net/url"
	"strings"

	"ramet/internal/tool/fetch/markup"
)

// mostBoxes is how many lists and quotes are indented in one another. What is deeper is not indented more.
const mostBoxes = 16

// Write is a part of a page as Markdown. Addresses are relative to base, where there is one.
func Write(n *markup.Node, base *url.URL) string {
	w := &writer{base: base}
	w.node(n)
	w.flush()
	return string(bytes.TrimRight(w.out, "\n"))
}

// writer holds what is written, and the line that is being made.
type writer struct {
	base   *url.URL
	out    []byte
	boxes  []box
	deeper int    // boxes that are too deep
	bullet string // of the last of them, where nothing of it is written yet
	tight  bool   // no empty line before the next block

	line   []byte // the text of a block
	space  bool   // before the next word there is space
	marks  []mark
	closed int      // where the last mark was closed in line
	closer []string // which it was, behind those that were closed just before it

	one  int  // all is in one line: headings, cells
	cell bool // of a table, in which lines end with <br>
	ends bool // such an end comes before the next word
}

// box is what lines of a list or quote begin with: the first of them, and the rest.
type box struct {
	first, rest string
	used        bool
}

// enter begins a list's item or a quote.
func (w *writer) enter(first, rest string) {
	if len(w.boxes) == mostBoxes {
		w.deeper++
		w.bullet = first
		return
	}
	w.boxes = append(w.boxes, box{first: first, rest: rest})
}

func (w *writer) leave() {
	if w.bullet = ""; w.deeper > 0 {
		w.deeper--
		return
	}
	w.boxes = w.boxes[:len(w.boxes)-1]
}

// block writes lines as a block of their own.
func (w *writer) block(text string) {
	if len(w.out) > 0 && !w.tight {
		begin := len(w.out)
		for _, b := range w.boxes {
			if b.used {
				w.out = append(w.out, b.rest...)
			}
		}
		w.endLine(begin)
	}
	w.tight = false
	for line := range strings.SplitSeq(text, "\n") {
		begin := len(w.out)
		for i := range w.boxes {
			b := &w.boxes[i]
			if b.used {
				w.out = append(w.out, b.rest...)
			} else {
				w.out = append(w.out, b.first...)
			}
			b.used = true
		}
		w.out = append(w.out, w.bullet...)
		w.bullet = ""
		if line == "" {
			w.endLine(begin)
		} else {
			w.out = append(append(w.out, line...), '\n')
		}
	}
}

// endLine ends a line of which only the beginning is written.
func (w *writer) endLine(begin int) {
	w.out = append(append(w.out[:begin], bytes.TrimRight(w.out[begin:], " ")...), '\n')
}
