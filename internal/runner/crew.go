package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
)

// BuiltinWorker does the items of one `uses:`.
type BuiltinWorker func(ctx context.Context, it Attempt, d Orchestrator) (Result, error)

// CrewStore is what is read of the workspace.
type CrewStore interface {
	agent.Directory
	history.Log
}

// CrewOptions is what a crew depends on. What is nil or empty is left out, but for Store and
// Dir.
type CrewOptions struct {
	Store CrewStore
	// Dir is where hosts make the folders in which items are done. It lies outside of
	// ramet's home, which commands in the sandbox cannot read, and may be shared by
	// several hosts of one machine and by other accounts.
	Dir      string
	Builtins map[string]BuiltinWorker
	// Form says whether an output has the form of that name; the error says what is wrong
	// with it, for the one who made it.
	Form func(schema string, data []byte) error
	// Book is the ledger of the run that an item belongs to; nil: none is kept. Owner is
	// this process in it.
	Book  func(it Attempt) ledger.Book
	Owner *ledger.Owner
	// Env is the whole environment of commands, without keys; Hide is what they may not
	// read inside the sandbox: ramet's home and configuration.
	Env  []string
	Hide []string
	// Quarantine is where files go that a command leaves under a name that other programs
	// execute; empty: names are not looked after.
	Quarantine string
	// External lets commands act outside the run, outside the sandbox; else such items
	// are DENIED, whoever queued them.
	External bool

	// For NewTape.
	Cache   TapeCache
	Budget  TapeBudget
	Redact  func(string) (string, bool)
	Price   func(ref llm.Ref, info llm.Model) (llm.Price, bool)
	BaseURL func(ref llm.Ref) string
	Now     func() time.Time
}

// Crew does items. It is a runner.Executor; all methods are safe for concurrent use.
type Crew struct {
	CrewOptions
	kernel *kernel.Kernel
	home   string // this host's folder in Dir
	lock   *durable.Held
	clones clones
	ends   sync.WaitGroup // of items, on their way into the ledger

	mu       sync.Mutex
	attempts map[id.Agent]*crewAttempt // by the agent of the item
	runs     map[id.Agent]bool         // the runs' own agents, as far as items were seen
	folder   int                       // counts those that were made
	answers  map[string][]string       // keys of answers in the cache, by run
	idle     chan struct{}             // closed when no attempt is left, and made anew

	// withTimeout is context.WithTimeoutCause; tests replace it to end an item's time.
	withTimeout func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
}

var _ Executor = (*Crew)(nil)

// NewCrew makes a crew. Its Model, Tools and Guard go into the options of a kernel, which
// Start gets.
func NewCrew(o CrewOptions) *Crew {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redact == nil {
		o.Redact = func(s string) (string, bool) { return s, false }
	}
	return &Crew{CrewOptions: o, withTimeout: context.WithTimeoutCause, idle: make(chan struct{}), attempts: map[id.Agent]*crewAttempt{}, runs: map[id.Agent]bool{}, answers: map[string][]string{}}
}

// Do carries out one item.
func (c *Crew) Do(ctx context.Context, it Attempt, d Orchestrator) (res Result, err error) {
	if limit := it.Task.Timeout; limit > 0 {
		late := fault.New(fault.TimedOut, "the item has taken the %s that it may take: %w", limit, context.DeadlineExceeded)
		var cancel context.CancelFunc
		ctx, cancel = c.withTimeout(ctx, limit, late)
		defer cancel()
	}
	defer func() {
		if broken := recover(); broken != nil {
			res, err = Result{}, fault.New(fault.Failed, "the item broke: %s", text.Line(fmt.Sprint(broken), 400))
		}
	}()
	if ctx.Err() != nil {
		return res, ended(ctx)
	}
	switch t := it.Task; {
	case t.Uses != "":
		res, err = c.builtin(ctx, it, d)
	case t.Prompt != "":
		res, err = c.agent(ctx, it, d)
	case t.Command != "":
		res, err = c.command(ctx, it, d)
	default:
		err = fault.New(fault.InvalidRecipe, "worker %s has nothing to do", it.Worker).WithHint("give it uses, prompt or command")
	}
	if err != nil {
		return Result{}, c.masked(because(ctx, err))
	}
	return res, nil
}

// masked takes secrets out of what goes into the log.
func (c *Crew) masked(err error) error {
	words, found := c.Redact(err.Error())
	answer, secret := c.Redact(Answer(err))
	if !found && !secret {
		return err
	}
	f := Refused(fault.New(fault.CodeOf(err), "%s", words), answer)
	if !Retryable(err) {
		return Final(f)
	}
	return f
}

func (c *Crew) builtin(ctx context.Context, it Attempt, d Orchestrator) (Result, error) {
	do, ok := c.Builtins[it.Task.Uses]
	if !ok {
		return Result{}, fault.New(fault.InvalidRecipe, "worker %s uses %q, which this host does not know", it.Worker, it.Task.Uses)
	}
	return do(ctx, it, d) // the orchestrator looks at what came out
}

// because is why an item failed: the end of its context says more than what came of it,
// unless that is known for sure.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	switch fault.CodeOf(err) {
	case fault.Cancelled, fault.Interrupted, fault.TimedOut, fault.Failed, fault.StreamCut:
		return ended(ctx)
	}
	return err
}

// ended is the fault of an item whose context ended.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if f, ok := fault.Of(cause); ok {
		return f
	}
	return llm.Ended(ctx)
}
