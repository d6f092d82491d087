package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/kernel/process"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

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
	Dir string
	// Builtin does the items of `uses:`; nil: this host knows none.
	Builtin func(ctx context.Context, it Attempt, d Orchestrator) (Result, error)
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
	// Show lists files and folders that they see there also below /tmp.
	Show []string
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
	case t.Uses != "" && c.Builtin != nil:
		res, err = c.Builtin(ctx, it, d) // the orchestrator looks at what came out
	case t.Uses != "":
		err = fault.New(fault.InvalidRecipe, "worker %s uses %q, which this host does not know", it.Worker, t.Uses)
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

// prefix begins the names of the folders of hosts in Options.Dir. The rest is random: another
// account that can write there, as in /tmp, must not be able to make the folder first.
const prefix = "ramet-items-"

// Start makes the folder of this host, removes what dead hosts left, and takes the kernel
// that items are done with.
func (c *WorkerPool) Start(ctx context.Context, k *kernel.Kernel) error {
	if err := durable.MakeFolder(c.Dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return fault.New(fault.StorageIO, "open the folder of work items: %w", err)
	}
	if err := removeDeadHosts(dir); err != nil {
		return err
	}
	for c.home == "" {
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Cancelled, "make the folder of work items: %w", err)
		}
		if err := c.makeHome(dir); err != nil {
			return err
		}
	}
	c.kernel = k
	c.clones.dir = filepath.Join(c.home, "clones")
	return nil
}

// makeHome makes and locks the folder of this host. It leaves c.home empty if another host swept
// the folder away before the lock was held.
func (c *WorkerPool) makeHome(dir string) error {
	home, err := os.MkdirTemp(dir, prefix)
	if err != nil {
		return durable.Failure("make folder", dir, err)
	}
	lock, err := durable.TryLock(filepath.Join(home, "lock"))
	if _, gone := os.Lstat(home); errors.Is(gone, fs.ErrNotExist) || fault.Is(err, fault.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	c.home, c.lock = home, lock
	return nil
}

// Stop removes the folder. No item may be under way.
func (c *WorkerPool) Stop() error {
	c.ends.Wait()
	err := removeFolder(c.home)
	if unlock := c.lock.Unlock(); err == nil && !errors.Is(unlock, fs.ErrNotExist) {
		err = unlock
	}
	return err
}

// removeDeadHosts removes the folders of hosts that are dead: their locks are free. What another account
// made under such a name stays.
func removeDeadHosts(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return durable.Failure("read folder", dir, err)
	}
	for _, e := range entries {
		home := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || durable.CheckPrivate(home) != nil {
			continue
		}
		held, err := durable.TryLock(filepath.Join(home, "lock"))
		if fault.Is(err, fault.Locked) {
			continue
		}
		if err == nil {
			defer held.Unlock()
		}
		if err := removeFolder(home); err != nil {
			return err
		}
	}
	return nil
}

// removeFolder removes a folder, also where the right to do so was taken away.
func removeFolder(dir string) error {
	if dir == "" || os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return durable.Failure("remove folder", dir, os.RemoveAll(dir))
}

// agentAttempt is an item that is being done by an agent.
type agentAttempt struct {
	item         Attempt
	orchestrator Orchestrator
	agent        id.Agent
	calls        CallSequence
	over         atomic.Bool

	// Of the one goroutine that does the item.
	entered bool      // the ledger has it
	dead    bool      // the agent ended with its turn
	held    time.Time // since when the kernel has the agent's lease; zero: it has not
}

// reading limits how long it may take to find the item of an agent.
const reading = 30 * time.Second

// at finds what is known of an agent here: its item, or that it is a run's own.
func (c *WorkerPool) at(a id.Agent) (s *agentAttempt, run bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts[a], c.runs[a]
}

// find finds the item that an agent works on: its own, or that of an ancestor; path leads
// from the item's agent down to it. inRun: it is below a run and works on none.
func (c *WorkerPool) find(ctx context.Context, a agent.Agent) (s *agentAttempt, path []id.Agent, inRun bool, err error) {
	c.mu.Lock()
	idle := len(c.runs) == 0
	c.mu.Unlock()
	if idle {
		return nil, nil, false, nil
	}
	for at := a; ; {
		s, run := c.at(at.ID)
		if s != nil || run {
			slices.Reverse(path)
			return s, path, run, nil
		}
		if at.IsZero() {
			return nil, nil, false, nil
		}
		path = append(path, at.ID)
		if at, err = c.Store.Agent(ctx, at.Parent); err != nil {
			return nil, nil, false, err
		}
	}
}

// Belongs reports whether an agent works on an item, for itself or for an ancestor.
func (c *WorkerPool) Belongs(a agent.Agent) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, _, _, err := c.find(ctx, a)
	return s != nil, err
}

// Model records the calls of the model of an agent that works on an item, and leaves
// others as they are. An agent below a run that works on no item is refused: its
// calls would be in no log.
func (c *WorkerPool) Model(a agent.Agent, m kernel.Model) (kernel.Model, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, path, inRun, err := c.find(ctx, a)
	switch {
	case err != nil:
		return kernel.Model{}, err
	case inRun:
		return kernel.Model{}, fault.New(fault.Denied, "agent %s belongs to a run and works on none of its items", a.Label()).
			WithHint("calls of a run's agents must be in its log; fork another agent to talk to")
	case s == nil:
		return m, nil
	}
	lane, err := c.lane(ctx, s.agent, path)
	if err != nil {
		return kernel.Model{}, err
	}
	if m.Foreign != nil {
		if s.item.Task.Driver == "" {
			return kernel.Model{}, fault.New(fault.Conflict, "worker %s would be driven by %s, but its recipe doesn't name it", s.item.Worker, m.Ref.Name).
				WithHint("`driver: NAME` of the worker, or `run start --model driver/NAME`, lets another program do items")
		}
		m.Foreign = &drivenItem{c, s, lane, m}
		return m, nil
	}
	for i, other := range m.Others {
		m.Others[i] = c.recordCalls(s, lane, a, other)
	}
	return c.recordCalls(s, lane, a, m), nil
}

func (c *WorkerPool) recordCalls(s *agentAttempt, lane string, a agent.Agent, m kernel.Model) kernel.Model {
	o := RecorderOptions{Item: s.item, Report: s.orchestrator.Report, Sequence: &s.calls, Lane: lane, Agent: string(a.ID), Vendor: m.Ref.Vendor,
		MaxTokens: m.Info.Output, Cache: c.Cache, Redact: c.Redact, Now: c.Now,
		Price: func(string) (llm.Price, bool) {
			if c.Price != nil {
				return c.Price(m.Ref, m.Info)
			}
			free := m.Ref.Vendor == "offline" || m.Ref.Vendor == "script"
			return m.Info.Price, free || m.Info.Price != llm.Price{}
		}}
	if c.BaseURL != nil {
		o.BaseURL = c.BaseURL(m.Ref)
	}
	taped := NewRecorder(m.Provider, o)
	m.Provider = llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		if s.over.Load() {
			return func(yield func(llm.Event) bool) {
				yield(llm.Fail(fault.New(fault.Denied, "the item %s is over", s.item.ID)))
			}
		}
		return taped.Stream(ctx, r)
	})
	return m
}

// lane returns the way from an item's agent down to one that works for it: each step is the
// number of a child among those of its parent, which the parent's history has.
func (c *WorkerPool) lane(ctx context.Context, from id.Agent, path []id.Agent) (string, error) {
	lane := ""
	for _, child := range path {
		n, found := 0, false
		for e, err := range c.Store.QueryRange(ctx, history.Range{Agent: from, End: history.NoLimit}, history.Selection{}) {
			if err != nil {
				return "", err
			}
			if e.Kind != history.Fork {
				continue
			}
			m, err := e.Decode()
			if err != nil {
				return "", err
			}
			if i := slices.Index(m.Children, child); i >= 0 {
				n, found = n+i+1, true
				break
			}
			n += len(m.Children)
		}
		if !found {
			return "", fault.New(fault.HistoryDamaged, "the history of agent %s does not tell of its child %s", from, child)
		}
		lane, from = ChildLane(lane, n), child
	}
	return lane, nil
}

// Tools leaves those tools that the task of an agent names; others keep all.
func (c *WorkerPool) Tools(a agent.Agent, all tool.Box) tool.Box {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, _, inRun, err := c.find(ctx, a)
	if err != nil || inRun {
		return nil // the refusal of Model says why
	}
	if s == nil {
		return all
	}
	var out tool.Box
	for _, t := range all {
		if _, narrows := t.(tool.Narrower); narrows {
			out = append(out, t)
		} else if slices.Contains(s.item.Task.Tools, tool.NameOf(t)) {
			out = append(out, tool.Tell(t))
		}
	}
	return out
}

// Guard permits the calls of agents that work on items, which no person watches: files can be
// changed in their own folder, and commands run inside the sandbox or not at all. Calls of
// others are next's to decide.
func (c *WorkerPool) Guard(next loop.Guard) loop.Guard { return &guard{c, next} }

type guard struct {
	pool *WorkerPool
	next loop.Guard
}

func (g *guard) Decide(ctx context.Context, spec tool.Spec, call tool.Call) (tool.Grant, *history.Permission, error) {
	s, run := g.pool.at(call.Agent)
	if s == nil && !run {
		a, err := g.pool.Store.Agent(ctx, call.Agent)
		if err != nil {
			return "", nil, err
		}
		if s, _, run, err = g.pool.find(ctx, a); err != nil {
			return "", nil, err
		}
	}
	switch {
	case s == nil && !run:
		return g.next.Decide(ctx, spec, call)
	case s != nil && !s.over.Load() && s.item.Task.Driver != "" && mayAsk(s.item.Task.Tools, spec):
		return tool.Confine, g.record(spec), nil // all of the program is confined
	case s == nil || s.over.Load() || spec.Name != process.RecallName && !slices.Contains(s.item.Task.Tools, spec.Name):
		return "", nil, fault.New(fault.Denied, "%s is not a tool of this task", spec.Name)
	case spec.Access != tool.Commands:
		return tool.Free, g.record(spec), nil
	}
	if err := sandbox.Available(); err != nil {
		return "", nil, fault.New(fault.Denied, "there is no sandbox to run commands of a run in: %w", err)
	}
	return tool.Confine, g.record(spec), nil
}

// record returns a permission that the rules of runs gave.
func (g *guard) record(spec tool.Spec) *history.Permission {
	if spec.Access == tool.Reads || spec.Access == tool.Processes {
		return nil
	}
	return &history.Permission{Answer: history.Allowed, By: history.ByMode, Mode: "run", Confined: spec.Access == tool.Commands, At: history.Moment(time.Now())}
}

// drivenItem is a program that does an item: each of its turns is one call in the run's log, with
// what the program was asked, its last words, and what it used; its own calls of models are in the history of
// the agent. Nothing of it is taken from the cache: it has done more than to answer.
type drivenItem struct {
	pool *WorkerPool
	at   *agentAttempt
	lane string
	kernel.Model
}

// Run implements proc.Foreign.
func (d *drivenItem) Run(ctx context.Context, a agent.Agent, t loop.Turn, talk *loop.Conversation) (out loop.Outcome, err error) {
	if d.at.over.Load() {
		return out, fault.New(fault.Denied, "the item %s is over", d.at.item.ID)
	}
	turn := func(ctx context.Context, _ llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			if out, err = d.Foreign.Run(ctx, a, t, talk); !yield(llm.Event{Type: llm.Used, Usage: &out.Usage}) {
				return
			}
			if err != nil {
				yield(llm.Fail(err))
				return
			}
			if yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: out.Text}}) {
				yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
			}
		}
	}
	o := RecorderOptions{Item: d.at.item, Report: d.at.orchestrator.Report, Sequence: &d.at.calls, Lane: d.lane, Agent: string(a.ID), Vendor: d.Ref.Vendor,
		Redact: d.pool.Redact, Now: d.pool.Now, Cost: func() (llm.Money, bool) { return out.Cost, out.Cost > 0 }}
	taped := NewRecorder(llm.Func(turn), o)
	for e := range taped.Stream(ctx, llm.Request{Model: d.Ref.Name, Messages: talk.Messages()}) {
		if e.Type == llm.Failed && err == nil {
			err = e.Err // it is not in the log: it has not happened
		}
	}
	return out, err
}

// mayAsk reports whether a program gets what it asks for: reading always, else what the worker's tools name, all
// if it names none.
func mayAsk(tools []string, spec tool.Spec) bool {
	switch {
	case tools == nil || spec.Access == tool.Reads || slices.Contains(tools, spec.Name):
		return true
	case spec.Name == "edit":
		return slices.Contains(tools, "write")
	}
	return false
}
