package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
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
		e.inputs, e.code, e.retry, e.failure = itemInputs(w.Inputs), "", false, ""
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

func itemInputs(files []run.File) []Input {
	out := make([]Input, len(files))
	for i, f := range files {
		out[i].Path = f.Path
		if f.SHA256 != nil {
			out[i].SHA256 = *f.SHA256
		}
	}
	return out
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
