package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Options configures a run.
type Options struct {
	RunID  string
	Recipe *recipe.Recipe
	Params map[string]string // bound, see recipe.Bind
	Agent  string            // the run's own agent
	Model  string            // of workers without a model of their own; empty: the configured one
	// Window returns the context window of a model in tokens; 0: unknown. nil: of no model.
	Window  func(model string) int64
	NoCache bool // every model is asked anew
	Log     Log
	Folder  Folder
	Site    Site
	// Near takes what must be done on this machine, Far everything else; without Far all
	// is near.
	Near, Far Queue
	Gates     Inspector
	// Form reports whether an output has the form of that name.
	Form func(schema string, data []byte) error
	// Acting returns the first of some paths that other programs would execute or obey unasked
	// in the run's folder, or nothing. exists reports what already exists.
	Acting func(paths []string, exists func(path string) bool) string
	// Hosts returns for every known host whether it is alive: it was seen within a
	// lease. Nil: there are no others. It is asked every Look; 0: every Lease/6. Forget takes
	// a dead one off that list, unless it was seen again.
	Hosts  func(ctx context.Context) (map[string]bool, error)
	Forget func(ctx context.Context, host string) error
	Here   []string // names of hosts that are this process
	Lease  time.Duration
	Look   time.Duration
	// Ended returns why the run has to stop because its own agent is dead: a *Cancelled if that was meant to cancel it.
	// nil: the agent lives. It is asked when a worker was killed; may be nil.
	Ended func(ctx context.Context) error
	// Watch is called with events after they are durable, in order. It must not block.
	Watch func(...run.Event)
	Now   func() time.Time
}

// Log is the log of the run as its one writer sees it, such as a *rundir.Session. It is used by one goroutine at a time.
type Log interface {
	// Append writes events, all or none, and returns when they are durable. What the
	// state does not allow is refused and leaves the log as it was.
	Append(ctx context.Context, requests ...run.Request) ([]run.Event, error)
	// Now returns a copy of what all events amount to.
	Now() run.Snapshot
	// Events reads the log after the first n events.
	Events(ctx context.Context, n int64) iter.Seq2[run.Entry, error]
}

// Folder is the run's folder. Paths are relative to it, with slashes, and never lead out
// of it.
type Folder interface {
	Read(path string) ([]byte, error)
	// Hash of a file as it is now; ok is false if it is not there.
	Hash(path string) (sha256 string, ok bool)
	// Below lists all files below a folder, sorted; none if there is no such folder.
	Below(path string) ([]string, error)
	// Remove takes a file away; one that is not there is nothing.
	Remove(path string) error
	// Stage makes content durable under another name; Commit gives it its name.
	Stage(path string, data []byte) (run.Staged, error)
}

// Run is one run that is being carried out. It is the Orchestrator of its workers.
type Run struct {
	Options
	limits recipe.Limits

	mu       sync.Mutex // guards what follows
	state    run.State
	items    map[item]*attempt
	byID     map[string]*attempt // the current attempts
	issues   map[string]run.Issue
	opened   []string // ids of issues, in order
	sections map[string]run.SectionState
	hashes   map[string]string // of files, as far as known
	values   map[string]string // of the names in braces
	begins   map[string]string // commits that worktrees begin at, by bundle, where it is not the base
	fixes    []string          // scopes of fixes, in the order they were first queued
	fixed    map[string]int    // attempts of fixes, since the run was last reopened
	rounds   int               // of mending, since the run was last reopened
	mending  string            // the issue that is being mended
	anew     bool              // the run was reopened: what led to its failure is not asked for again
	spent    spending
	calls    map[string]string      // open model calls, with their spans
	looking  []gateRun              // gates that began to look and did not end
	passed   map[string]bool        // workers whose items are done
	measured map[string]bool        // workers whose items are known not to be given too much
	makers   map[[2]string][]string // the makers of an input of a worker

	backlog     []*attempt // queued in the log, not yet enqueued
	outstanding int        // enqueued, not settled
	unsettled   int        // of the level that is being waited for
	failures    []failed
	wake        chan struct{} // has one element when the level may be settled
	stopped     error         // why work ends early
	over        bool          // nothing is accepted any more
	cancel      context.CancelCauseFunc
}

// item is a worker with a scope: attempts of it follow each other.
type item struct{ worker, scope string }

// attempt is the newest attempt of an item.
type attempt struct {
	item
	id       string
	number   int64
	status   run.Status
	code     string // of its failure
	retry    bool
	inputs   []Input
	outputs  []run.File
	tries    int    // in this process, without those that were interrupted
	unsure   int    // in this process: attempts that did not know whether it acted
	failure  string // what was wrong with the attempt before
	answer   string // what it had answered, where that was refused
	host     string
	wanted   bool            // the level that is waited for needs it
	sent     bool            // the queue was told of it
	reported map[string]bool // ids of reports, while it is in progress
}

// gateRun is one look of a gate.
type gateRun struct{ gate, span string }

type failed struct {
	id      string
	failure Failure
}

// newest finds the newest attempt of an item, or makes the first.
func (r *Run) newest(u item) *attempt {
	e := r.items[u]
	if e == nil {
		e = &attempt{item: u}
		r.items[u] = e
		if w, ok := r.worker(u.worker); ok && w.Each.Issue {
			r.fixes = append(r.fixes, u.scope)
		}
	}
	return e
}

func (r *Run) worker(name string) (recipe.Worker, bool) { return r.Recipe.Worker(name) }

// Stop ends the work: what is being done is interrupted and can be done again.
func (r *Run) Stop(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked(why)
}

func (r *Run) stopLocked(why error) {
	if r.stopped == nil {
		r.stopped = why
	}
	if r.cancel != nil {
		r.cancel(why)
	}
	r.settled()
}

// settled wakes the goroutine that waits for a level.
func (r *Run) settled() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// fatal are the reasons for which a run becomes FAILED. For all others it stays where it
// is, and a plain resume continues it.
var fatal = map[fault.Code]bool{fault.GateFailed: true, fault.NoProgress: true, fault.OutputInvalid: true, fault.Failed: true,
	fault.TimedOut: true, fault.LoopDetected: true, fault.Conflict: true, fault.NotFound: true, fault.InvalidRecipe: true,
	fault.ForgeRefused: true, fault.Denied: true, fault.Untrusted: true, fault.InvalidText: true}

// New opens a run that has a log. Nothing is written before Execute.
func New(ctx context.Context, o Options) (*Run, error) {
	if o.Far == nil {
		o.Far = o.Near
	}
	r := newRun(o, o.Log.Now())
	if r.Site.Patch == "" {
		r.Site.Patch = r.expand(o.Recipe.Changes(), "all")
	}
	if err := o.Recipe.CheckPaths(r.values); err != nil {
		return nil, err
	}
	return r, r.recount(ctx)
}

// newRun returns a run in the state that a log amounts to.
func newRun(o Options, s run.Snapshot) *Run {
	r := &Run{Options: o, limits: o.Recipe.Limits.WithDefaults(), wake: make(chan struct{}, 1), calls: map[string]string{}, fixed: map[string]int{},
		items: map[item]*attempt{}, byID: map[string]*attempt{}, issues: map[string]run.Issue{}, sections: map[string]run.SectionState{},
		hashes: map[string]string{}, passed: map[string]bool{}, measured: map[string]bool{}, makers: map[[2]string][]string{}}
	r.load(s)
	r.know()
	return r
}

// load takes over what the log amounts to.
func (r *Run) load(s run.Snapshot) {
	r.state = s.RunState
	for _, w := range s.WorkItems {
		e := r.newest(item{w.Worker, w.ScopeKey})
		if w.Attempt < e.number {
			continue
		}
		delete(r.byID, e.id)
		e.id, e.number, e.status, e.outputs = w.WorkItemID, w.Attempt, w.Status, w.Outputs
		e.inputs, e.code, e.retry, e.failure = make([]Input, len(w.Inputs)), "", false, ""
		for i, f := range w.Inputs {
			e.inputs[i].Path = f.Path
			if f.SHA256 != nil {
				e.inputs[i].SHA256 = *f.SHA256
			}
		}
		if w.Error != nil {
			e.code, e.failure = w.Error.Code, w.Error.Message
		}
		e.retry = w.Retryable != nil && *w.Retryable
		r.byID[e.id] = e
	}
	for _, i := range s.Issues {
		r.issues[i.IssueID] = i
		r.opened = append(r.opened, i.IssueID)
	}
	for name, st := range s.SectionStates {
		r.sections[name] = st
	}
}

// inOrder returns all items' newest attempts, by their ids: the same order each time.
func (r *Run) inOrder() []*attempt {
	out := make([]*attempt, 0, len(r.items))
	for _, e := range r.items {
		if e.id != "" {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	return out
}

// itemRecord makes a record about an item, with its span.
func itemRecord(itemID string, t run.Type, payload any) run.Request {
	r := newRecord(t, payload)
	r.SpanID = SpanOf(itemID)
	return r
}

// newRecord makes a record; the payload is one of ours, so it can be encoded.
func newRecord(t run.Type, payload any) run.Request {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return run.Request{Type: t, Payload: data}
}

// SpanOf returns the span of something that has a name in a run.
func SpanOf(name string) string { return chain.Sum([]byte(name)).String()[:16] }

// callID returns the call that a report is about.
func callID(payload []byte) string {
	return run.ReadPayload[run.CacheHit](payload).CallID // as in every event of a call; the log checks its form
}

// step returns the event of a transition.
func (r *Run) step(to run.State, reason string) run.Request {
	return newRecord(run.RunStateChanged, run.Step{Old: r.state, New: to, Reason: reason})
}

// failing returns the event of a failure; the attempt remembers it.
func (r *Run) failing(e *attempt, f Failure) run.Request {
	e.status, e.code, e.failure, e.answer, e.retry = run.ItemFailed, f.Code, f.Message, f.Answer, f.Retryable
	return itemRecord(e.id, run.WorkItemFailed, run.ItemFailure{WorkItemID: e.id, Error: run.ItemError{Code: f.Code, Message: f.Message}, Retryable: f.Retryable})
}

// invalidateRecord returns the event of an item that was done and has to be done again.
func invalidateRecord(e *attempt, why string) run.Request {
	return itemRecord(e.id, run.WorkItemInvalidated, run.Invalidation{WorkItemID: e.id, Reason: why})
}

// append writes events and passes them to Watch. The caller holds mu. A log that cannot be
// written ends the work.
func (r *Run) append(ctx context.Context, records ...run.Request) error {
	if len(records) == 0 {
		return nil
	}
	events, err := r.Log.Append(context.WithoutCancel(ctx), records...)
	if r.Watch != nil {
		r.Watch(events...)
	}
	if err != nil {
		r.stopLocked(err)
	}
	return err
}

// Attempt is one attempt of one item of work. It carries all that its host needs.
type Attempt struct {
	ID     string `json:"work_item_id"`
	RunID  string `json:"run_id"`
	Worker string `json:"worker"`
	Scope  string `json:"scope_key"`
	Number int64  `json:"attempt"`
	// Agent is the run's own agent, from which the agent of the attempt is forked.
	Agent string `json:"agent"`
	// Inputs are files by their paths in the run's folder; contents are fetched by hash.
	Inputs []Input `json:"inputs"`
	Task   Task    `json:"task"`
	// Parallel limits the items of the run that one host works on at once; 0 is no limit.
	Parallel int `json:"parallel,omitempty"`
}

// Input is a file that an item needs.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Task describes the work of an attempt. Exactly one of Uses, Prompt and Command is set.
type Task struct {
	Uses    string `json:"uses,omitempty"`    // a built-in, see Executor
	Prompt  string `json:"prompt,omitempty"`  // of an agent, as its recipe has it
	Command string `json:"command,omitempty"` // for sh -c
	// Assignment follows the prompt: what the agent is and must deliver.
	Assignment string `json:"assignment,omitempty"`
	// With are the parameters of a built-in, and variables of a command.
	With    map[string]string `json:"with,omitempty"`
	Outputs []Output          `json:"outputs"`
	// Form is the JSON Schema that the last answer of an agent is to fit; empty: any.
	Form  json.RawMessage `json:"form,omitempty"`
	Tools []string        `json:"tools,omitempty"` // of an agent; names as in package tool
	Model string          `json:"model,omitempty"` // vendor/name; empty: the configured one
	// Driver is the program that Model names, where one drives the agent; empty: ramet's own loop.
	Driver string `json:"driver,omitempty"`
	// Left limits what such a program may use of the run's budget; nil: no limit.
	Left   *Left  `json:"left,omitempty"`
	Effort string `json:"effort,omitempty"` // how hard the model thinks; empty: as configured
	// Role is the definition that the agent is made by; nil: none.
	Role *recipe.Definition `json:"role,omitempty"`
	// Fresh makes the model be asked, whatever was answered before.
	Fresh bool `json:"fresh,omitempty"`
	// Tree is the start of the item's own git worktree; nil: it has none.
	Tree    *Tree         `json:"tree,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // 0: none
	// An external effect happens once for a key. Lookup, a command, reports whether it did:
	// exit 0 yes (what it prints is the output), 1 no, anything else: it is not known.
	External bool   `json:"external,omitempty"`
	Key      string `json:"key,omitempty"`
	Lookup   string `json:"lookup,omitempty"`
}

// Left is the rest of the limits of a run; 0: there is none.
type Left struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Output is a file that an item promises, or any number of files below a folder: then its
// path ends in /**.
type Output struct {
	Path   string `json:"path"`             // in the run's folder
	Schema string `json:"schema,omitempty"` // name of a schema; empty: any bytes
	// Patch marks the difference that the item made in its worktree.
	Patch bool `json:"patch,omitempty"`
	// Empty allows such a difference to be empty.
	Empty bool `json:"empty,omitempty"`
	// Answer marks the last answer of the agent, or the output of a command.
	Answer bool `json:"answer,omitempty"`
}

// Tree is the start of a worktree.
type Tree struct {
	Bundle  string   `json:"bundle"`            // path of a git bundle among the inputs, with one commit
	Commit  string   `json:"commit"`            // that commit
	Patches []string `json:"patches,omitempty"` // paths among the inputs, applied in order first
}

// Result is the result of an item.
type Result struct {
	Files  []Blob  `json:"files"`            // one for each output
	Issues []Issue `json:"issues,omitempty"` // what it could not do and has to be fixed
	// Inputs are clones that were made at pinned commits (the clone built-in only).
	Clones []Clone `json:"clones,omitempty"`
	// PR locates the pull request: its URL, or the path of a bundle.
	PR string `json:"pr,omitempty"`
}

// Blob is a file with its content.
type Blob struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// Clone is an input at a commit.
type Clone = run.Clone

// Issue is something that a gate or an item found. The orchestrator gives it its id,
// which is made of gate, code, files and rule, so that the same issue is known again
// whatever words tell of it.
type Issue struct {
	Gate     string   `json:"gate"`
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Files    []string `json:"files,omitempty"` // in the written tree
	Line     int      `json:"line,omitempty"`
	Fix      string   `json:"fix,omitempty"` // a suggestion
	// Rule distinguishes issues of one gate, code and file: what is broken there, without
	// anything that changes from one look to the next. Empty: there is one such issue.
	Rule string `json:"rule,omitempty"`
}

// Severity of an issue. Errors and blockers keep a run from going on.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warn    Severity = "warn"
	Error   Severity = "error"
	Blocker Severity = "blocker"
)

// Orchestrator is the orchestrator as a worker sees it. All methods return when what they did
// is durable; FENCED means that the attempt is not current any more: stop, and leave no
// trace. They may be called again with the same arguments after a lost answer.
type Orchestrator interface {
	// Claim asks the log whether an attempt is current and waiting, and takes it for a
	// host.
	Claim(ctx context.Context, itemID, host string) (Attempt, error)
	// Fetch gets the content of an input.
	Fetch(ctx context.Context, itemID, sha256 string) ([]byte, error)
	// Report writes events of an item into the log: those of model calls, and no others.
	// Evidence files go with them.
	Report(ctx context.Context, itemID string, r Report) error
	// Deliver hands over what an item gave back, or why it failed.
	Deliver(ctx context.Context, itemID string, r Result, failure *Failure) error
}

// Report is an event about a model call.
type Report struct {
	ID       string   `json:"id"` // told twice, it counts once
	Type     run.Type `json:"type"`
	Payload  []byte   `json:"payload"`
	Evidence *Blob    `json:"evidence,omitempty"` // path below the run's folder
}

// Failure is the reason why an item failed.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	// Unknown: it acts outside the run, and whether it did is not known.
	Unknown bool `json:"unknown,omitempty"`
	// Answer is the refused answer, which the next attempt is shown; empty: there was none.
	Answer string `json:"answer,omitempty"`
}

// Executor does items. The implementation finds the way for each kind of task.
type Executor interface {
	// Do carries out one item; the end of ctx stops it. Orchestrator is for fetching inputs and
	// reporting calls; claiming and delivering are done by the caller (see Serve). An
	// error is a fault; those that Retryable names may be tried again.
	Do(ctx context.Context, it Attempt, d Orchestrator) (Result, error)
}

// Site is the place of a run on the orchestrator's machine: built-ins work in it, and
// gates look at it.
type Site struct {
	Dir    string            // the run's folder
	Params map[string]string // of the recipe, by name; repo and into among them
	// Patch is the path, in the folder, of the only writer's changes; empty without a writer.
	Patch string
}

// Inspector carries out gates. It changes nothing.
type Inspector interface {
	// Inspect looks at what was written and returns what it found. ctx ends at the gate's
	// timeout. An error means that it could not look.
	Inspect(ctx context.Context, g recipe.Gate, s Site) ([]Issue, error)
}

// again are the codes of failures that another attempt may not meet: something was
// busy, cut off or too slow, or a model gave a wrong answer.
var again = map[fault.Code]bool{
	fault.Failed: true, fault.TimedOut: true, fault.LoopDetected: true, fault.OutputInvalid: true, fault.Killed: true,
	fault.Locked: true, fault.Leased: true, fault.StorageUnreachable: true,
	fault.ProviderRateLimit: true, fault.ProviderOverloaded: true, fault.ProviderUnreachable: true, fault.ProviderProtocol: true,
	fault.StreamCut: true, fault.Interrupted: true,
}

// Retryable reports whether the work may be tried again as it is: what failed was the
// attempt, and not the task. Nothing that was refused, is not permitted, cannot be paid
// or has not its form gets better by itself.
func Retryable(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*final](err); ok {
		return false
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok && f.Again {
		return true
	}
	return again[fault.CodeOf(err)]
}

// Final marks an error as one that another attempt would meet again, or must not risk:
// what acts outside the run and failed is not tried again by itself.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &final{err}
}

// WithAnswer keeps an answer with the reason why it was refused: the next
// attempt is shown it.
func WithAnswer(err error, answer string) error {
	if err == nil || answer == "" {
		return err
	}
	return &refused{err, answer}
}

// RefusedAnswer returns the refused answer of an error.
func RefusedAnswer(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.answer
	}
	return ""
}

type refused struct {
	err    error
	answer string
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

type final struct{ err error }

func (f *final) Error() string { return f.err.Error() }
func (f *final) Unwrap() error { return f.err }
