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

// WorkspaceStore reads agents and histories of the workspace.
type WorkspaceStore interface {
	agent.Directory
	history.Log
}

// WorkerPoolOptions configures a pool. Nil and empty fields are left out, except for Store and
// Dir.
type WorkerPoolOptions struct {
	Store WorkspaceStore
	// Dir is the folder in which hosts create the folders of items. It lies outside of ramet's home, which commands in the
	// sandbox can't read, and several hosts of one machine and other accounts may share it.
	Dir      string
	Builtins map[string]BuiltinWorker
	// Form reports whether an output has the form of that name; the error describes what is wrong
	// with it, for the next attempt.
	Form func(schema string, data []byte) error
	// Book is the ledger of the run that an item belongs to; nil: none is kept. Owner is
	// this process in it.
	Book  func(it Attempt) ledger.Book
	Owner *ledger.Owner
	// Env is the whole environment of commands, without keys; Hide is what they may not
	// read inside the sandbox: ramet's home and configuration.
	Env  []string
	Hide []string
	// Quarantine is the folder for files that a command leaves under a name that other programs execute; empty: names aren't
	// checked.
	Quarantine string
	// External lets commands act outside the run, outside the sandbox; else such items
	// are DENIED.
	External bool

	// For NewRecorder.
	Cache   AnswerCache
	Redact  func(string) (string, bool)
	Price   func(ref llm.Ref, info llm.Model) (llm.Price, bool)
	BaseURL func(ref llm.Ref) string
	Now     func() time.Time
}

// WorkerPool does items. It is a runner.Executor; all methods are safe for concurrent use.
type WorkerPool struct {
	WorkerPoolOptions
	kernel *kernel.Kernel
	home   string // this host's folder in Dir
	lock   *durable.Held
	clones clones
	ends   sync.WaitGroup // of items, on their way into the ledger

	mu       sync.Mutex
	attempts map[id.Agent]*agentAttempt // by the agent of the item
	runs     map[id.Agent]bool          // the runs' own agents, as far as items were seen
	folder   int                        // counts those that were made
	answers  map[string][]string        // keys of answers in the cache, by run

	// withTimeout is context.WithTimeoutCause; tests replace it to end an item's time.
	withTimeout func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
}

var _ Executor = (*WorkerPool)(nil)

// NewWorkerPool makes a pool. Its Model, Tools and Guard go into the options of a kernel, which
// Start gets.
func NewWorkerPool(o WorkerPoolOptions) *WorkerPool {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redact == nil {
		o.Redact = func(s string) (string, bool) { return s, false }
	}
	return &WorkerPool{WorkerPoolOptions: o, withTimeout: context.WithTimeoutCause, attempts: map[id.Agent]*agentAttempt{}, runs: map[id.Agent]bool{}, answers: map[string][]string{}}
}

// Do carries out one item.
func (c *WorkerPool) Do(ctx context.Context, it Attempt, d Orchestrator) (res Result, err error) {
	if limit := it.Task.Timeout; limit > 0 {
		late := fault.New(fault.TimedOut, "it took longer than %s: %w", limit, context.DeadlineExceeded)
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
		return res, contextFault(ctx)
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
		return Result{}, c.redactError(explainFailure(ctx, err))
	}
	return res, nil
}

// redactError takes secrets out of what goes into the log.
func (c *WorkerPool) redactError(err error) error {
	words, found := c.Redact(err.Error())
	answer, secret := c.Redact(RefusedAnswer(err))
	if !found && !secret {
		return err
	}
	f := WithAnswer(fault.New(fault.CodeOf(err), "%s", words), answer)
	if !Retryable(err) {
		return Final(f)
	}
	return f
}

func (c *WorkerPool) builtin(ctx context.Context, it Attempt, d Orchestrator) (Result, error) {
	do, ok := c.Builtins[it.Task.Uses]
	if !ok {
		return Result{}, fault.New(fault.InvalidRecipe, "worker %s uses %q, which this host does not know", it.Worker, it.Task.Uses)
	}
	return do(ctx, it, d) // the orchestrator looks at what came out
}

// explainFailure returns the reason why an item failed: the end of its context explains more than its error,
// unless that is known for sure.
func explainFailure(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	switch fault.CodeOf(err) {
	case fault.Cancelled, fault.Interrupted, fault.TimedOut, fault.Failed, fault.StreamCut:
		return contextFault(ctx)
	}
	return err
}

// contextFault returns the fault of an item whose context ended.
func contextFault(ctx context.Context) error {
	cause := context.Cause(ctx)
	if f, ok := fault.Of(cause); ok {
		return f
	}
	return llm.Ended(ctx)
}
