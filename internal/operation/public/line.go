package public

import (
	"encoding/json"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// Line is an event as one line of JSON. Its shape is public (docs/json.md): fields
// may be added, never renamed or removed; those that an event does not have are
// left out.
type Line struct {
	Type     loop.EventType `json:"type"`
	Agent    id.Agent       `json:"agent_uuid,omitempty"`
	Text     string         `json:"text,omitempty"`
	CallID   string         `json:"call_id,omitempty"`
	Tool     string         `json:"tool,omitempty"`
	IsError  bool           `json:"is_error,omitempty"`
	Message  *Message       `json:"message,omitempty"`
	Attempt  *Attempt       `json:"attempt,omitempty"`
	Usage    *llm.Usage     `json:"usage,omitempty"`
	Cost     *llm.Money     `json:"cost_nano_usd,omitempty"`
	Children []id.Agent     `json:"children,omitempty"`
	Turn     int64          `json:"turn,omitempty"`
	Ask      string         `json:"ask_id,omitempty"`
	Outcome  *Outcome       `json:"outcome,omitempty"`
	State    *state.State   `json:"state,omitempty"`
	Error    *Error         `json:"error,omitempty"`
}

// Message is an entry of a history. Parts over 8 KiB stand in blobs, which they
// name.
type Message struct {
	ID        id.Message      `json:"id"`
	Agent     id.Agent        `json:"agent_uuid"`
	Kind      history.Kind    `json:"kind"`
	Parts     json.RawMessage `json:"parts"`
	Meta      json.RawMessage `json:"meta"`
	CreatedAt string          `json:"created_at"`
	Hash      chain.Hash      `json:"hash"`
}

// Attempt is a call of a model that failed and is repeated.
type Attempt struct {
	Number int    `json:"number"`
	Of     int    `json:"of"`
	WaitMS int64  `json:"wait_ms"`
	Error  *Error `json:"error"`
}

// Outcome is the result of a turn.
type Outcome struct {
	Text   string    `json:"text"`
	Steps  int       `json:"steps"`
	Calls  int       `json:"calls"`
	Denied int       `json:"denied"`
	Worked int       `json:"worked"`
	Ended  bool      `json:"ended"`
	Began  bool      `json:"began"` // what was asked stands in the history
	Usage  llm.Usage `json:"usage"`
	Cost   llm.Money `json:"cost_nano_usd"`
}

// Error is a fault.
type Error struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// Result is the type of the last line of a stream, and of `ramet exec --json`.
const Result loop.EventType = "result"

// Unread is the type of a line about a letter that the agent of `ramet exec` did not read.
const Unread loop.EventType = "unread"

// Format is the line of an event.
func Format(e loop.Event) Line {
	l := Line{Type: e.Type, Agent: e.Agent, Text: e.Text, CallID: e.CallID, Tool: e.Tool, IsError: e.IsError,
		Children: e.Children, Turn: e.Turn, Ask: e.Ask, State: e.State, Error: FormatError(e.Err)}
	if e.Entry != nil {
		m := FormatEntry(*e.Entry)
		l.Message = &m
	}
	if e.Attempt.Number > 0 {
		l.Attempt = &Attempt{e.Attempt.Number, e.Attempt.Of, e.Attempt.Wait.Milliseconds(), FormatError(e.Attempt.Err)}
	}
	if e.Type == loop.Spent {
		l.Usage, l.Cost = &e.Usage, &e.Cost
	}
	if o := e.Outcome; o != nil {
		l.Outcome = &Outcome{o.Text, o.Steps, o.Calls, o.Denied, o.Worked, o.Ended, o.Began, o.Usage, o.Cost}
	}
	return l
}

// Event returns the event that Format made the line from.
func (l Line) Event() loop.Event {
	e := loop.Event{Type: l.Type, Agent: l.Agent, Text: l.Text, CallID: l.CallID, Tool: l.Tool, IsError: l.IsError,
		Children: l.Children, Turn: l.Turn, Ask: l.Ask, State: l.State, Err: l.Error.Fault()}
	if m := l.Message; m != nil {
		at, _ := time.Parse(stampForm, m.CreatedAt) // ours; a time that is none is shown as such
		e.Entry = &history.Entry{ID: m.ID, Agent: m.Agent, Kind: m.Kind, Content: m.Parts, Meta: m.Meta, CreatedAt: at, Hash: m.Hash}
	}
	if a := l.Attempt; a != nil {
		e.Attempt = llm.Attempt{Number: a.Number, Of: a.Of, Wait: time.Duration(a.WaitMS) * time.Millisecond, Err: a.Error.Fault()}
	}
	if l.Usage != nil {
		e.Usage = *l.Usage
	}
	if l.Cost != nil {
		e.Cost = *l.Cost
	}
	if o := l.Outcome; o != nil {
		e.Outcome = &loop.Outcome{Text: o.Text, Steps: o.Steps, Calls: o.Calls, Denied: o.Denied, Worked: o.Worked,
			Ended: o.Ended, Began: o.Began, Usage: o.Usage, Cost: o.Cost}
	}
	return e
}

// FormatError is the shape of an error; nil of none.
func FormatError(err error) *Error {
	if err == nil {
		return nil
	}
	if f, ok := fault.Of(err); ok {
		return &Error{f.Code, f.Message, f.Hint}
	}
	return &Error{Code: fault.Failed, Message: err.Error()}
}

// Fault gives the error back; its cause is lost on the way.
func (e *Error) Fault() error {
	if e == nil {
		return nil
	}
	return &fault.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
}
