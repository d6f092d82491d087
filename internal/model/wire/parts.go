package wire

import (
	"slices"
	"strings"

	"ramet/internal/model/llm"
)

// Parts builds a message out of pieces and keeps the order: parts may grow side
// by side, but each is handed out as Done after those before it.
type Parts struct {
	Origin string // goes with signatures and opaque data
	list   []*part
	next   int // the first that is not handed out
	events []llm.Event
}

type part struct {
	llm.Part
	text strings.Builder
	done bool
}

// Open begins a part and gives its index.
func (p *Parts) Open(kind llm.PartType) int {
	p.list = append(p.list, &part{Part: llm.Part{Type: kind}})
	return len(p.list) - 1
}

// OpenCall begins a tool call.
func (p *Parts) OpenCall(id, name string) int {
	i := p.Open(llm.ToolCall)
	p.list[i].CallID, p.list[i].Name = id, name
	p.emit(llm.Event{Type: llm.ToolStart, Index: i, CallID: id, Name: name})
	return i
}

// Add is the next piece of a part.
func (p *Parts) Add(i int, piece string) {
	if piece == "" || p.list[i].done {
		return
	}
	p.list[i].text.WriteString(piece)
	kind := llm.TextDelta
	switch p.list[i].Type {
	case llm.Thinking:
		kind = llm.ThinkingDelta
	case llm.ToolCall:
		kind = llm.ToolDelta
	}
	p.emit(llm.Event{Type: kind, Index: i, Text: piece})
}

// Len returns how many bytes of a part came so far.
func (p *Parts) Len(i int) int { return p.list[i].text.Len() }

// Sign adds to the signature of a part.
func (p *Parts) Sign(i int, signature string) { p.list[i].Signature += signature }

// Note sets what is written of a part that is not shown while it grows.
func (p *Parts) Note(i int, text string) {
	p.list[i].text.Reset()
	p.list[i].text.WriteString(text)
}

// Cite adds a page on which a text rests.
func (p *Parts) Cite(i int, s llm.Source) {
	if s.URL != "" {
		p.list[i].Sources = append(p.list[i].Sources, s)
	}
}

// Keep sets the opaque data of a part.
func (p *Parts) Keep(i int, data []byte) { p.list[i].Opaque = append([]byte(nil), data...) }

// Done marks a part as whole.
func (p *Parts) Done(i int) {
	p.list[i].done = true
	for p.next < len(p.list) && p.list[p.next].done {
		p.hand(p.next)
		p.next++
	}
}

// DoneAll marks all parts as whole.
func (p *Parts) DoneAll() {
	for i := range p.list {
		p.Done(i)
	}
}

// Last returns the index of the last text or call, -1 if there is none.
func (p *Parts) Last() int {
	for i := len(p.list) - 1; i >= 0; i-- {
		if p.list[i].Type == llm.Text || p.list[i].Type == llm.ToolCall {
			return i
		}
	}
	return -1
}

// Calls reports whether there is a tool call.
func (p *Parts) Calls() bool {
	return slices.ContainsFunc(p.list, func(one *part) bool { return one.Type == llm.ToolCall })
}

func (p *Parts) hand(i int) {
	one := p.list[i]
	out := one.Part
	if out.Type == llm.ToolCall {
		out = llm.NewCall(out.CallID, out.Name, one.text.String())
		out.Signature, out.Opaque = one.Signature, one.Opaque
	} else {
		out.Text = one.text.String()
	}
	signed := out.Signature != "" || out.Opaque != nil
	if out.Type != llm.ToolCall && out.Text == "" && !signed && out.Sources == nil {
		return // nothing was in it
	}
	if signed || out.Type != llm.Text { // a thought is nobody else's, nor is the id of a call
		out.Origin = p.Origin
	}
	p.emit(llm.Event{Type: llm.Done, Index: i, Part: &out})
}

func (p *Parts) emit(e llm.Event) { p.events = append(p.events, e) }

// Take gives the events since the last Take. They are good until the next one begins.
func (p *Parts) Take() []llm.Event {
	out := p.events
	if p.events = out[:0]; cap(out) > keptRoom {
		p.events = nil
	}
	return out
}

// keptRoom is for how many events the room is used again: most are words, which come alone.
const keptRoom = 8

// Rest returns what is left of a total that a vendor counted without some parts of it, which
// some vendors count apart and some within. A total below zero stays one: it is no count,
// and refused as such.
func Rest(total int64, parts ...int64) int64 {
	if total < 0 {
		return total
	}
	for _, n := range parts {
		total -= n
	}
	return max(0, total)
}

// mostTokens is more than any call takes. What it would cost is still a number.
const mostTokens = 1 << 32

// Plausible reports whether what a vendor counted can be a count: less than nothing would be booked as a
// gain, and more than can be booked ends a turn whose answer is there. wrong is the number that cannot.
func Plausible(u llm.Usage) (wrong int64, ok bool) {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return n, false
		}
	}
	return 0, true
}

// counted passes on what is in the protocol: an impossible count is not.
func (c *Client) counted(yield func(llm.Event) bool) func(llm.Event) bool {
	return func(e llm.Event) bool {
		if e.Type == llm.Used {
			if wrong, ok := Plausible(*e.Usage); !ok {
				yield(llm.Fail(c.garbled("it says that the answer took %d tokens", wrong)))
				return false
			}
		}
		return yield(e)
	}
}
