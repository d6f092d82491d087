package local

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
)

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
