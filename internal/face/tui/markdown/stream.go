package markdown

import (
	"strings"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// longest is the most bytes that are held back: of a line, of a paragraph, of a
// table. It bounds what one delta costs.
const longest = 4 << 10

// Stream shows a text that grows.
type Stream struct {
	done    machine // has taken every whole line
	pending string  // the line that is not whole yet
	goesOn  bool    // the pending text goes on with a line that was cut
	lines   []Line  // what done showed, then how it looks if the text ends here
	stable  int
	stale   bool
}

// NewStream begins an empty text. For another width, begin anew with the text so
// far.
func NewStream(width int, theme Theme) *Stream {
	return &Stream{done: machine{width: max(width, 1), theme: theme}}
}

// Write adds to the text.
func (s *Stream) Write(delta string) {
	if delta == "" {
		return
	}
	s.stale = true
	for delta != "" {
		take, whole := delta, false
		if end := strings.IndexByte(delta, '\n'); end >= 0 {
			take, whole = delta[:end], true
			delta = delta[end+1:]
		} else {
			delta = ""
		}
		line := s.pending + take
		for len(line) >= longest+reach {
			n := cutAt(line)
			s.feed(line[:n])
			s.goesOn = true
			line = line[n:]
		}
		if s.pending = line; whole {
			s.feed(strings.TrimSuffix(line, "\r"))
			s.pending, s.goesOn = "", false
		}
	}
	s.lines = append(s.lines[:s.stable], s.done.out...)
	s.stable, s.done.out = len(s.lines), s.done.out[:0]
}

func (s *Stream) feed(line string) { s.done.feed(text.Safe(line), s.goesOn) }

// Lines is the text as it looks now. It is valid until the next Write.
func (s *Stream) Lines() []Line {
	if s.stale {
		tail := s.done.clone()
		if s.pending != "" {
			tail.feed(text.Safe(s.pending), s.goesOn)
		}
		tail.closeTo(0)
		s.lines = append(s.lines[:s.stable], tail.out...)
		s.stale = false
	}
	return s.lines
}

// Stable is how many of the lines will not change any more.
func (s *Stream) Stable() int { return s.stable }

// reach is how far the text behind a cut is looked at, and how far back a cut may
// move.
const reach = 256

// cutAt is where a line that is too long is cut: after a space, else between
// clusters. It depends on the first bytes of the line only, not on how many came
// at once.
func cutAt(line string) int {
	if space := strings.LastIndexByte(line[longest-reach:longest], ' '); space >= 0 {
		return longest - reach + space + 1
	}
	at := longest - reach
	for at > longest-2*reach && !utf8.RuneStart(line[at]) {
		at--
	}
	for {
		_, _, n := text.NextCell(line[at : longest+reach])
		if n == 0 || at+n > longest {
			return at
		}
		at += n
	}
}
