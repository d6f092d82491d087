package llm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
)

// EventType names a kind of event in a stream.
type EventType string

// The events. Sent and Retry tell about the call, the deltas, Start and Done
// about the message; Finish and Failed are terminal.
const (
	Sent          EventType = "sent"           // Sent: the request as it leaves
	Retry         EventType = "retry"          // Retry: it failed and will be sent again
	TextDelta     EventType = "text_delta"     // Text
	ThinkingDelta EventType = "thinking_delta" // Text
	ToolStart     EventType = "tool_start"     // CallID, Name
	ToolDelta     EventType = "tool_delta"     // Text: a piece of the arguments
	Done          EventType = "done"           // Part: a text, thinking or call is whole
	Used          EventType = "usage"          // Usage: what was used so far
	Finished      EventType = "finish"         // Finish
	Failed        EventType = "error"          // Err, a fault
)

// Event is one thing that happened in a stream. Only the fields that its type
// names are set. It is handed on from room to room for every word, so what few events have is not in it.
type Event struct {
	Type   EventType
	Index  int // which part of the message a delta, start or done is about
	Text   string
	CallID string
	Name   string
	Part   *Part
	Usage  *Usage
	Finish Finish
	Sent   Bytes
	Retry  Attempt
	Err    error
}

// Terminal reports whether nothing follows.
func (e *Event) Terminal() bool { return e.Type == Finished || e.Type == Failed }

// Content reports whether the event shows something of the answer. From then on a
// call cannot be repeated unnoticed.
func (e *Event) Content() bool {
	switch e.Type {
	case TextDelta, ThinkingDelta, ToolStart, ToolDelta, Done:
		return true
	}
	return false
}

// Fail returns the terminal event of a call that failed.
func Fail(err error) Event { return Event{Type: Failed, Err: err} }

// Reason names why a model stopped.
type Reason string

// The reasons. ToolCalls means that the model waits for results; Paused that its
// vendor goes on when it is sent what it said (decorate.WithResume does, and nobody beyond
// it sees this one); Error that it or its vendor refused to continue.
const (
	Stop      Reason = "stop"
	Length    Reason = "length"
	ToolCalls Reason = "tool_calls"
	Paused    Reason = "paused"
	Error     Reason = "error"
)

// Finish describes how an answer ended.
type Finish struct {
	Reason Reason `json:"reason"`
	Raw    string `json:"raw"` // the vendor's own word
}

// Stumbled reports whether the model wrote a call that its vendor could not read: the same request may end
// otherwise. Nobody refused anything.
func (f Finish) Stumbled() bool {
	return f.Reason == Error && (f.Raw == "MALFORMED_FUNCTION_CALL" || f.Raw == "UNEXPECTED_TOOL_CALL") // of Gemini
}

// Bytes is a request as it goes over the wire. There is no key in it.
type Bytes struct {
	Path string // with the query, relative to the vendor's base URL
	Body []byte
}

// Hash identifies the request: SHA-256 of the path, a line feed and the body.
func (r Bytes) Hash() [sha256.Size]byte {
	h := sha256.New()
	h.Write(append([]byte(r.Path), '\n'))
	h.Write(r.Body) // megabytes, of which no copy is made
	return [sha256.Size]byte(h.Sum(nil))
}

// Attempt tells of a call that failed and will be repeated.
type Attempt struct {
	Number int           // of the attempt that failed; the first is 1
	Of     int           // how many there will be at most; 0: as many as it takes
	Wait   time.Duration // until the next
	Err    error         // why
}

// Count is which attempt it was: 2 of 5.
func (a Attempt) Count() string {
	if a.Of == 0 {
		return fmt.Sprintf("%d, of as many as it takes,", a.Number)
	}
	return fmt.Sprintf("%d of %d", a.Number, a.Of)
}

// Failure describes a call that failed; errors.As finds it in the
// fault.
type Failure struct {
	Status int           // of HTTP; 0 where there was no answer
	Kind   string        // the vendor's word for it, such as overloaded_error
	Says   string        // the vendor's message
	Param  string        // the member of the request that it is about, where the vendor says so
	Again  bool          // the same request may succeed later
	After  time.Duration // and not before; 0 where the vendor does not say
	Err    error         // the cause; may be nil
}

// Error returns the vendor's message, or the status.
func (f *Failure) Error() string {
	switch {
	case f.Says != "":
		return f.Says
	case f.Err != nil:
		return f.Err.Error()
	}
	return fmt.Sprintf("status %d", f.Status)
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Ended returns the fault of a call whose context ended.
func Ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.TimedOut, "ask model: the time allowed ran out: %w", err)
	}
	return fault.New(fault.Cancelled, "ask model: cancelled: %w", err)
}

// Cut returns the fault of a stream that stopped without a reason.
func Cut(cause error) error {
	f := &Failure{Says: "the connection ended before the answer did", Again: true, Err: cause}
	if cause != nil {
		f.Says += ": " + cause.Error()
	}
	return fault.New(fault.StreamCut, "read answer: %w", f).
		WithHint("what came so far is not an answer; ask again")
}

// Sleep waits, and reports whether ctx lasted until the time passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return ctx.Err() == nil
	}
}

// PassOn passes a stream on. A failure that is held is not passed on as long as nothing of the answer was shown: then
// the answer is not over, and last is that failure. Else last is the last event that was passed on.
func PassOn(stream iter.Seq[Event], held func(error) bool, yield func(Event) bool) (last Event, over bool) {
	shown := false
	for e := range stream {
		if e.Type == Failed && !shown && held(e.Err) {
			return e, false
		}
		shown = shown || e.Content()
		if last = e; !yield(e) || e.Terminal() {
			break
		}
	}
	return last, true
}

// Collect drains a stream and gives the message, or the error of Failed. With an
// error the message is what was shown so far, without tool calls: an answer that
// did not end asks for nothing. It is for programs that only want the end: tests, live,
// tools/oracle.
func Collect(stream iter.Seq[Event]) (Message, Usage, Finish, error) {
	var c Collector
	for e := range stream {
		c.Add(e)
	}
	return c.Result()
}

// Collector is Collect for those who look at the events themselves.
type Collector struct {
	parts  []Part
	open   map[int]*piece // begun and not done, by index
	last   *piece         // of them, the one that grew last; nil: none
	at     int            // its index
	usage  Usage
	finish Finish
	err    error
	ended  bool
}

type piece struct {
	kind PartType
	text strings.Builder
}

// Add takes the next event. What follows a terminal one is ignored.
func (c *Collector) Add(e Event) {
	if c.ended {
		return
	}
	switch e.Type {
	case TextDelta:
		c.delta(&e, Text)
	case ThinkingDelta:
		c.delta(&e, Thinking)
	case Done:
		delete(c.open, e.Index)
		c.last = nil
		c.parts = append(c.parts, *e.Part)
	case Used:
		c.usage = *e.Usage
	case Finished:
		c.finish, c.ended = e.Finish, true
	case Failed:
		c.err, c.ended = e.Err, true
		if c.err == nil {
			c.err = fault.New(fault.ProviderProtocol, "ask model: it failed without a reason")
		}
	}
}

func (c *Collector) delta(e *Event, kind PartType) {
	if c.last == nil || c.at != e.Index {
		if c.open == nil {
			c.open = map[int]*piece{}
		}
		if c.open[e.Index] == nil {
			c.open[e.Index] = &piece{kind: kind}
		}
		c.last, c.at = c.open[e.Index], e.Index
	}
	c.last.text.WriteString(e.Text)
}

// Result returns what Collect returns.
func (c *Collector) Result() (Message, Usage, Finish, error) {
	m := Message{Role: Assistant, Parts: c.parts}
	if c.ended && c.err == nil {
		return m, c.usage, c.finish, nil
	}
	err := c.err
	if !c.ended {
		err = Cut(nil)
	}
	return Message{Role: Assistant, Parts: c.shown()}, c.usage, Finish{}, err
}

// shown returns the texts and thoughts that came, whole or not.
func (c *Collector) shown() []Part {
	var out []Part
	for _, p := range c.parts {
		if p.Type == Text || p.Type == Thinking {
			out = append(out, p)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(c.open)) {
		out = append(out, Part{Type: c.open[i].kind, Text: c.open[i].text.String()})
	}
	return out
}
