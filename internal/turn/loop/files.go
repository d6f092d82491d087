package loop

import (
	"context"
	"time"

	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// mayWrite reports whether calls of a tool can change files.
func mayWrite(s tool.Spec) bool { return s.Access == tool.Writes || s.Access == tool.Commands }

// look begins to take a state, while the model is asked.
func (r *turn) look(ctx context.Context) {
	if r.Files != nil {
		r.files.taking = r.Files.Take(ctx)
	}
}

// stated drafts the state that was taken before the model's message, if that is to be told:
// calls may have written, or are about to for the first time.
func (r *turn) stated(ctx context.Context, calls []llm.Part) []history.Draft {
	if r.Files == nil || r.files.taking == nil {
		return nil
	}
	when, needed := history.AfterCalls, r.files.wrote
	for _, call := range calls {
		if found, _, ok := r.Tools.Find(call); ok && mayWrite(found.Spec()) && !r.files.first {
			r.files.first = true
			if !needed {
				when, needed = history.BeforeCalls, true
			}
		}
	}
	if !needed {
		return nil
	}
	draft, ok := r.files.taking.Done(ctx, when)
	if ctx.Err() == nil {
		r.files.wrote = false
	}
	if !ok {
		return nil
	}
	return []history.Draft{draft}
}

// writes notes that a call begins that may write; end, that it is over.
func (r *turn) writes(j *job) (end func()) {
	if r.Files == nil || !mayWrite(j.spec) {
		return func() {}
	}
	r.files.wrote = true // such calls run one at a time
	return r.Files.Begin()
}

// farewell limits how long files may delay the end of a turn that was stopped.
const farewell = 100 * time.Millisecond

// lastState tells the state after calls that no message of the model followed.
func (r *turn) lastState(ctx context.Context, why error) {
	if r.Files == nil || !r.files.wrote || why != nil && (lostAgent(why) || isStorageFault(why)) || r.out.Ended {
		return
	}
	waiting := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
	}
	if draft, ok := r.Files.Take(waiting).Done(waiting, history.AfterCalls); ok {
		r.write(ctx, draft) // the next turn tells it, if this cannot
	}
}
