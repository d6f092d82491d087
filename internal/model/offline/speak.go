package offline

import (
	"context"
	"unicode/utf8"

	"ramet/internal/model/llm"
)

// piece is the size of a delta of text in bytes, about.
const piece = 24

// speaker streams one answer.
type speaker struct {
	ctx   context.Context
	yield func(llm.Event) bool
	index int
	gone  bool // the consumer left, or the terminal event was sent
}

// emit hands an event on; when the context has ended, that is told instead.
func (s *speaker) emit(e llm.Event) {
	if s.gone {
		return
	}
	if s.ctx.Err() != nil {
		e = llm.Fail(llm.Ended(s.ctx))
	}
	if !e.Terminal() {
		e.Index = s.index
	}
	s.gone = !s.yield(e) || e.Terminal()
}

func (s *speaker) answer(a answer, asked int, limit int64) {
	reason, size := llm.Stop, 0
	if len(a.calls) > 0 {
		reason = llm.ToolCalls
		for _, c := range a.calls {
			s.call(c)
			size += len(c.Name) + len(c.Args)
		}
	} else {
		text := Label + a.text
		// A token is taken for four bytes, here as in the usage.
		if limit > 0 && int64(len(text)) > 4*limit {
			text, reason = firstBytes(text, int(4*limit)), llm.Length
		}
		s.text(text)
		size = len(text)
	}
	s.emit(llm.Event{Type: llm.Used, Usage: &llm.Usage{Input: tokens(asked), Output: tokens(size)}})
	s.emit(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: reason, Raw: string(reason)}})
}

func (s *speaker) text(text string) {
	for rest := text; rest != ""; {
		next := firstBytes(rest, piece)
		if next == "" { // one character that is longer
			next = rest
		}
		s.emit(llm.Event{Type: llm.TextDelta, Text: next})
		rest = rest[len(next):]
	}
	s.emit(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: text}})
	s.index++
}

func (s *speaker) call(c llm.Part) {
	s.emit(llm.Event{Type: llm.ToolStart, CallID: c.CallID, Name: c.Name})
	s.emit(llm.Event{Type: llm.ToolDelta, Text: string(c.Args)})
	s.emit(llm.Event{Type: llm.Done, Part: &c})
	s.index++
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// firstBytes returns at most n bytes of a text, and no half characters.
func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
