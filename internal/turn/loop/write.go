package loop

import (
	"context"
	"encoding/json"
	"errors"

	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// write appends entries, takes them into the conversation and tells of them. It
// is finished even when ctx ends.
func (r *turn) write(ctx context.Context, drafts ...history.Draft) error {
	if len(drafts) == 0 {
		return nil
	}
	ctx, cancel := ExtendContext(ctx)
	defer cancel()
	entries, err := r.Journal.Append(ctx, drafts...)
	if err != nil {
		return err
	}
	return r.take(ctx, entries)
}

// catchUp takes what tools wrote.
func (r *turn) catchUp(ctx context.Context) ([]history.Entry, error) {
	ctx, cancel := ExtendContext(ctx)
	defer cancel()
	entries, err := r.Journal.Since(ctx, r.c.Last())
	if err != nil {
		return nil, err
	}
	return entries, r.take(ctx, entries)
}

func (r *turn) take(ctx context.Context, entries []history.Entry) error {
	fresh, err := r.c.Add(ctx, entries...)
	if err == nil && !fresh {
		err = r.reread(ctx)
	}
	if err != nil {
		return err
	}
	for i := range entries {
		r.c.last = max(r.c.last, entries[i].ID)
		if entries[i].Kind == history.Interrupted {
			r.closed = true
		}
		r.emit(Event{Type: Recorded, Entry: &entries[i]})
	}
	return nil
}

// reread makes the conversation anew, from the history.
func (r *turn) reread(ctx context.Context) error {
	whole, err := r.Journal.Replay(ctx)
	if err != nil {
		return err
	}
	c, err := NewConversation(ctx, whole, r.Journal.Blob)
	if err != nil {
		return err
	}
	*r.c = *c
	r.meter.tokens, r.meter.in, r.meter.sent, r.sent = 0, 0, 0, 0
	return nil
}

// draftResult drafts the answer to a call.
func draftResult(call llm.Part, a tool.Answer) history.Draft {
	p := history.Part{Type: history.Result, CallID: call.CallID, Name: call.Name, Text: a.Text, IsError: a.IsError, Show: a.Show}
	if a.Memo != "" {
		p.Memo = json.RawMessage(a.Memo)
	}
	parts := []history.Part{p}
	if a.File != nil { // several stand behind their results: each says whose it is
		parts = append(parts, history.Part{Type: history.Text, Text: a.File.Name + ":"}, storedPart(*a.File))
	}
	return history.Draft{Kind: history.ToolResult, Parts: parts, Meta: history.Meta{Actor: a.By}}
}

// result drafts the answer to a call, with who let it run.
func (j *job) result(a tool.Answer) history.Draft {
	d := draftResult(j.call, a)
	d.Meta.Permission = j.record
	return d
}

// draftUsage drafts the record of a call of the model.
func draftUsage(c decorate.RecordedCall) history.Draft {
	out := &history.Call{
		Model: c.Model.String(), Outcome: c.Outcome,
		Input: c.Usage.Input, Output: c.Usage.Output, CacheRead: c.Usage.CacheRead, CacheWrite: c.Usage.CacheWrite,
		Reasoning: c.Usage.Reasoning, Cost: int64(c.Cost), Priced: c.Priced, Attempts: c.Attempts,
		FirstMS: c.First.Milliseconds(), TookMS: c.Took.Milliseconds(),
	}
	if c.Attempts > 0 {
		out.Request = c.Request.String()
	}
	return history.Draft{Kind: history.Usage, Meta: history.Meta{Call: out}}
}

// StoppedBy is the cause of a turn's end that a person asked for.
type StoppedBy struct {
	By *history.Actor // nil: unknown
	error
}

// Unwrap gives the error itself.
func (s StoppedBy) Unwrap() error { return s.error }

// Stopped wraps the reason of an end with the person who wants it.
func Stopped(by *history.Actor, why error) error { return StoppedBy{by, why} }

// interrupted drafts the end of a reply that is no answer, or of a turn.
func (r *turn) interrupted(shown string, why error) history.Draft {
	d := history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: r.kept(states.Why(why))}}
	var stopped StoppedBy
	if errors.As(why, &stopped) {
		d.Meta.Actor = stopped.By
	}
	if shown = r.kept(shown); shown != "" {
		d.Parts = []history.Part{{Type: history.Text, Text: shown}}
	}
	return d
}
