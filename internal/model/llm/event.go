package llm

import (
	"crypto/sha256"
	"fmt"
	"time"
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
// it sees this one); Error that it or its vendor refused to go on.
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
