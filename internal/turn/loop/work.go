package loop

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// lastWords limits how long a turn whose context ended may take to close its history.
const lastWords = 5 * time.Second

// turn is a turn under way.
type turn struct {
	Turn
	c       *Conversation
	out     Outcome
	offer   []llm.Tool
	untold  []string // tools that are carried out, but not offered
	repeats repeats
	meter   meter
	narrow  int64                 // a window that was learnt in this turn; 0: none was
	brief   int64                 // how long an answer may be, where a longer one was refused; 0: nothing was
	fixed   int64                 // bytes of each request that are not the conversation
	task    id.Message            // the message of the user that the turn answers; 0: none
	sent    int                   // messages of the conversation in the last request
	bound   bool                  // a budget binds
	settle  func(context.Context) // gives back what was set aside for the call under way; nil: nothing was
	worst   int64                 // tokens that the call under way reads at most
	silent  bool                  // it was told that the vendor does not count
	closed  bool                  // the history says that the turn was interrupted
	mending bool                  // the last word did not fit, and is asked for once more
	pauses  pauses
	files   stating
	asides  []string     // what hooks said of calls whose results were written already
	halt    *fault.Error // hooks want the turn to end; nil: they do not
	stops   int          // how often hooks kept the turn from ending

	emitting sync.Mutex // tools that run side by side print
}

// ExtendContext returns a context for writing, which outlives the turn's by a little: what is
// written must not be torn by the end of what it tells of.
func ExtendContext(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-out.Done():
		case <-time.After(lastWords):
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

func (r *turn) emit(e Event) {
	r.emitting.Lock()
	defer r.emitting.Unlock()
	e.Agent = r.Agent
	r.Emit(e)
}

// job is one call on its way.
type job struct {
	call    llm.Part
	tool    tool.Tool // nil: it was refused
	spec    tool.Spec
	made    tool.Call
	note    string // about its arguments, for the model
	answer  tool.Answer
	err     error
	denied  bool
	record  *history.Permission // who let it run, or not
	started bool
	written bool
	over    chan struct{} // closed when it ran
}

// stating tracks the files of a turn.
type stating struct {
	taking Taking
	wrote  bool // a call may have written since the last state
	first  bool // a call that may write was made
}

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
	if r.Files == nil || !r.files.wrote || why != nil && (LostAgent(why) || isStorageFault(why)) || r.out.Ended {
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
