package loop

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/jsonschema"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// Journal is the history of the agent whose turn it is.
type Journal interface {
	// Append writes entries; they are durable when it returns.
	Append(ctx context.Context, drafts ...history.Draft) ([]history.Entry, error)
	// Since reads own entries that are newer than one, oldest first: those that
	// tools wrote.
	Since(ctx context.Context, after id.Message) ([]history.Entry, error)
	// Replay reads the context anew, after a compaction.
	Replay(ctx context.Context) (*history.Context, error)
	// Blob reads a large content.
	Blob(ctx context.Context, h chain.Hash) ([]byte, error)
	// Streaming takes what was shown of the reply so far, to keep it should the
	// process die. It returns at once; the text is asked for, and written, within a second.
	// What is shown after that is told again.
	Streaming(text func() string)
}

// Guard decides about calls.
type Guard interface {
	// Decide permits a call, or refuses it with a DENIED fault whose text the model
	// reads. It may ask the user, and then takes as long as that takes. The record says
	// who decided; nil: there was nothing to decide.
	Decide(ctx context.Context, s tool.Spec, c tool.Call) (tool.Grant, *history.Permission, error)
}

// Budget knows what may still be spent.
type Budget interface {
	// Reserve sets aside what a call may come to, before it is sent, in the agent's own limits
	// and those of its ancestors. It may wait for calls of others. What does not fit is
	// BUDGET_EXCEEDED, which says whose limit it is.
	Reserve(ctx context.Context, w Worst) (Reserved, error)
	// Left is BUDGET_EXCEEDED where nothing is left to be spent: for a turn whose calls are
	// sent by another program.
	Left(ctx context.Context) error
}

// Worst bounds the cost of a call.
type Worst struct {
	Model  llm.Ref
	Input  int64 // tokens that are read, at most
	Output int64 // tokens that are written, at most, where nothing binds
	Least  int64 // what Output may be lowered to
	Price  llm.Price
	Priced bool  // Price is known; it may be nothing
	Search int64 // searches of the web, at most
}

// Reserved is an amount set aside in a budget.
type Reserved struct {
	Output int64 // what may be written
	Bound  bool  // a limit binds
	// Settle gives it back, when what the call came to is written. nil: there is nothing to
	// give back.
	Settle func(context.Context)
}

// Turn holds the dependencies of a turn.
type Turn struct {
	Agent    id.Agent
	Provider llm.Provider
	Ref      llm.Ref       // the model
	Model    llm.Model     // what is known of it
	Effort   llm.Effort    // how hard it is to think; empty: as is usual for it
	Others   []Alternative // models that take over, in this order, when a vendor is down
	Search   bool          // it may search the web at its vendor
	// Schema must match the last answer; nil: anything does.
	Schema  *jsonschema.Schema
	System  []llm.Message // overlays, in front of the context; not part of any history
	Tree    string        // the same for all agents that share a beginning: their requests meet a warm cache
	Paused  time.Duration // since the agent last did something; 0: unknown
	Tools   tool.Box
	Journal Journal
	Guard   Guard
	Budget  Budget
	Files   Files // nil: no states are taken
	Limits  Limits
	Hooks   Hooks   // nil: there are none
	Task    bool    // the turn is the task of a child
	Learnt  *Window // what other turns learnt of the model; nil: they are not told, nor heard
	// Heard takes what the user said since the turn began, behind the results of a step. nil:
	// no person says anything.
	Heard func(context.Context) Heard
	// Facts returns the text that an agent needs when the older part of its conversation is a
	// summary: who it is, who works for it. nil or empty: nothing.
	Facts func(context.Context) string
	// Joins returns the entries to write after the results of a message's calls. nil: none.
	Joins Join
	// Acting is held from before a message that calls tools is written until all
	// its results are: no fork comes between. nil: no forks.
	Acting func(context.Context) (release func(), err error)
	// Ending is asked when the model has said its last word: what it returns is a notice,
	// with which the turn continues; nothing: the turn ends. nil: it ends.
	Ending func(context.Context) (string, error)
	// Clean takes our own credentials out of a text before it is kept, sent or
	// shown. nil: there are none.
	Clean func(string) string
	Emit  func(Event) // never nil; called by one goroutine at a time
}

// Heard holds the messages of the user while the agent worked.
type Heard struct {
	Drafts  []history.Draft
	Written func(error) // is told, once, whether they are in the history
}

// Limits bound one turn.
type Limits struct {
	Steps   int // answers of the model, while no person is there and no budget binds; 0: 500
	Repeats int // identical answers whose calls fail in a row; 0: 3
	// Fill is the part of the model's context, in percent, above which room is made; 0: 80.
	Fill int
	// Attended reports that a person watches the turn and can stop it. Otherwise,
	// vendors that have too much to do and networks that were lost are waited for as long as
	// the turn may take.
	Attended bool
	Again    time.Duration // before an answer that was cut is asked for again; it doubles each time. 0: 500 ms
}

// Outcome describes how a turn ended.
type Outcome struct {
	Text   string // the model's last text
	Steps  int
	Usage  llm.Usage
	Cost   llm.Money
	Calls  int  // tool calls that were made
	Denied int  // of these, how many were not permitted
	Worked int  // of these, how many did what they were asked
	Ended  bool // the agent ended itself
	Began  bool // of the kernel: what was asked is in the history
}

// Alternative is a model that takes over when the vendor of another is down.
type Alternative struct {
	Ref      llm.Ref
	Model    llm.Model
	Provider llm.Provider
	Learnt   *Window
}

// Files takes the states of the agent's folder. A state is taken while the model is asked:
// nothing that the agent does changes files then.
type Files interface {
	// Take begins to take the state as it is, and returns at once.
	Take(ctx context.Context) Taking
	// Begin reports the start of a call that may write; end, its end.
	Begin() (end func())
}

// Taking is a state that is being taken.
type Taking interface {
	// Done waits for the state and drafts its entry; false: it is the one that the history
	// tells already, or ctx ended. What could not be taken is an entry that says so: it is
	// no reason to end a turn.
	Done(ctx context.Context, when history.When) (history.Draft, bool)
}

// Join returns what follows from the calls of one message: entries that are written after
// their results, before the model is asked again. known are the memos that the conversation
// holds (see tool.Memory).
type Join func(ctx context.Context, known iter.Seq[json.RawMessage], calls []tool.Call) ([]history.Draft, error)

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
	sources []string     // of the foreign content that the history says it took in
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
