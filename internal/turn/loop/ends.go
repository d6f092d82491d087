package loop

import (
	"context"
	"errors"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
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
