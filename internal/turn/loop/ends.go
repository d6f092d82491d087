package loop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// What is said of calls that were not carried out.
const (
	notBegun     = "not begun: it did not happen"
	notPermitted = "not begun: it did not happen; it was waiting for the user's permission"
	notOfLength  = "not run: your answer was cut at the longest that it may be, and with it perhaps this call. Make it again, in a shorter answer."
	notOfMany    = "not run: of one answer at most %d calls are carried out, and this is one more. Make it again."
)

// ContextFault returns the fault of a turn whose context ended, with the code of its cause.
func ContextFault(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch f, ok := fault.Of(cause); {
	case ok:
		return fault.New(f.Code, "the turn was stopped: %w", cause)
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.New(fault.TimedOut, "the turn was stopped: the time allowed ran out: %w", cause)
	}
	return fault.New(fault.Cancelled, "the turn was stopped: %w", cause)
}

// LostAgent reports whether the agent is no longer ours: nothing more may be written.
func LostAgent(err error) bool { return fault.Is(err, fault.Fenced) || fault.Is(err, fault.DeadAgent) }

// isStorageFault reports whether the store failed.
func isStorageFault(err error) bool {
	f, ok := fault.Of(err)
	return ok && (strings.HasPrefix(string(f.Code), "STORAGE_") || f.Code == fault.HistoryDamaged)
}

// goesOn opens a conversation that the model would open otherwise.
const goesOn = "(conversation continues)"

// stop ends the turn at a limit; the history says so.
func (r *turn) stop(ctx context.Context, why *fault.Error) error {
	if err := r.write(ctx, history.Draft{Kind: history.Note, Meta: history.Meta{Reason: r.kept(states.Why(why))},
		Parts: []history.Part{{Type: history.Text, Text: why.Message}}}); err != nil {
		return err
	}
	return why
}

// refused ends the turn where nothing is left to spend; the history says so.
func (r *turn) refused(ctx context.Context, err error) error {
	if why, ok := fault.Of(err); ok && why.Code == fault.BudgetExceeded && ctx.Err() == nil {
		return r.stop(ctx, why)
	}
	return err
}

// close writes that the turn was interrupted, once.
func (r *turn) close(ctx context.Context) error {
	why := ContextFault(ctx)
	if r.closed || LostAgent(why) {
		return why
	}
	if err := r.write(ctx, r.interrupted("", why)); err != nil {
		return err
	}
	return why
}

// goesOn asks, when the model has said its last word, whether the turn may end there. What
// it is told instead is a notice, and it is asked again.
func (r *turn) goesOn(ctx context.Context) (bool, error) {
	if r.out.Ended {
		return false, nil
	}
	if r.Ending != nil {
		what, err := r.Ending(ctx)
		if err != nil {
			return false, err
		}
		if what != "" {
			return true, r.write(ctx, Notice(r.kept(what)))
		}
	}
	return r.mayStop(ctx)
}

// fits holds the last word of the model against the schema that it was to fit. One
// that does not is asked for once more, with the reason and without calls; a second
// one is OUTPUT_INVALID.
func (r *turn) fits(ctx context.Context) (again bool, err error) {
	if r.Schema == nil {
		return false, nil
	}
	said := Unfence(r.out.Text)
	why := r.Schema.Check([]byte(said))
	switch {
	case why == nil:
		r.out.Text = said
		return false, nil
	case r.mending:
		return false, r.stop(ctx, fault.New(fault.OutputInvalid, "the answer does not fit the schema: %v", why).
			WithHint("ask for less at once, or ask another model; `ramet log` shows what it said"))
	}
	r.mending = true
	return true, r.write(ctx, Notice("Your answer does not fit what was asked for: "+r.kept(why.Error())+". "+r.Schema.Ask()))
}

// Unfence takes a Markdown fence from around a whole answer: models like to put one
// there.
func Unfence(said string) string {
	inner := strings.TrimSpace(said)
	if !strings.HasPrefix(inner, "```") || !strings.HasSuffix(inner, "\n```") {
		return inner
	}
	_, inner, ok := strings.Cut(inner, "\n")
	if !ok {
		return strings.TrimSpace(said)
	}
	inner = strings.TrimSuffix(inner, "```")
	if strings.Contains(inner, "\n```") {
		return strings.TrimSpace(said)
	}
	return strings.TrimSpace(inner)
}

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
