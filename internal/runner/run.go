package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Run is one run that is being carried out. It is the Orchestrator of its workers.
type Run struct {
	Options
	limits recipe.Limits

	mu       sync.Mutex // guards what follows, and the log
	state    run.State
	items    map[item]*attempt
	byID     map[string]*attempt // the current attempts
	issues   map[string]run.Issue
	opened   []string // ids of issues, in order
	gates    map[string]bool
	sections map[string]run.SectionState
	hashes   map[string]string // of files, as far as known
	values   map[string]string // of the names in braces
	fixes    []string          // scopes of fixes, in the order they were first queued
	fixed    map[string]int    // attempts of fixes, since the run was last reopened
	mending  string            // the issue that is being mended
	spent    spending
	reported map[string]bool // ids of reports

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
	id      string
	number  int64
	status  run.Status
	code    string // of its failure
	retry   bool
	inputs  []Input
	outputs []run.File
	tries   int    // in this process, without those that were interrupted
	failure string // what was wrong with the attempt before
	host    string
	wanted  bool // the level that is waited for needs it
	sent    bool // the queue was told of it
}

type failed struct {
	id      string
	failure Failure
}

// New opens a run that has a log. Nothing is written before Execute.
func New(ctx context.Context, o Options) (*Run, error) {
	if o.Far == nil {
		o.Far = o.Near
	}
	r := &Run{Options: o, limits: Limits(o.Recipe.Limits), wake: make(chan struct{}, 1), reported: map[string]bool{}, fixed: map[string]int{},
		items: map[item]*attempt{}, byID: map[string]*attempt{}, issues: map[string]run.Issue{}, gates: map[string]bool{},
		sections: map[string]run.SectionState{}, hashes: map[string]string{}}
	r.load(o.Log.Now())
	r.know()
	if err := o.Recipe.CheckPaths(r.values); err != nil {
		return nil, err
	}
	return r, r.recount(ctx)
}

// load takes over what the log amounts to.
func (r *Run) load(s run.Snapshot) {
	r.state = s.RunState
	for _, w := range s.WorkItems {
		e := r.effort(item{w.Worker, w.ScopeKey})
		if w.Attempt < e.number {
			continue
		}
		delete(r.byID, e.id)
		e.id, e.number, e.status, e.outputs = w.WorkItemID, w.Attempt, w.Status, w.Outputs
		e.inputs, e.code, e.retry, e.failure = inputs(w.Inputs), "", false, ""
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

func inputs(files []run.File) []Input {
	out := make([]Input, len(files))
	for i, f := range files {
		out[i].Path = f.Path
		if f.SHA256 != nil {
			out[i].SHA256 = *f.SHA256
		}
	}
	return out
}

// attempt finds the attempt of an item, or makes one.
func (r *Run) effort(u item) *attempt {
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

// append writes events and tells of them. The caller holds mu. A log that cannot be
// written ends the work.
func (r *Run) append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := r.Log.Append(context.WithoutCancel(ctx), records...); err != nil {
		r.stopLocked(err)
		return err
	}
	if r.Watch != nil {
		for _, e := range records {
			r.Watch(e)
		}
	}
	return nil
}

// event makes a record; the payload is one of ours, so it can be encoded.
func event(t run.Type, payload any) Record {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return Record{Type: t, Payload: data}
}

// about gives an event the span of an item.
func (e Record) about(itemID string) Record {
	e.Span = Span(itemID)
	return e
}

// Span is the span of something that has a name in a run.
func Span(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

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

// settled wakes whoever waits for a level.
func (r *Run) settled() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ErrCancelled is the cause of a stop for good: the run becomes CANCELLED.
var ErrCancelled = errors.New("the run was cancelled")

// Execute carries the run out until it is over or has to stop, and returns nil only
// when it is DONE. serve does the work of queues until its context ends; the caller gives
// the hosts of this process. The resume is planned and recorded first.
func (r *Run) Execute(ctx context.Context, p run.Plan, serve func(context.Context) error) error {
	if err := r.begin(ctx, p); err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.limits.Runtime > 0 {
		timer := time.AfterFunc(r.limits.Runtime, func() {
			r.Stop(fault.New(fault.BudgetExceeded, "the run took longer than %s", r.limits.Runtime).
				WithHint("`ramet run resume %s` goes on with as much time again", r.RunID))
		})
		defer timer.Stop()
	}
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	serving := make(chan error, 1)
	go func() {
		err := serve(work)
		if err != nil && work.Err() == nil {
			r.Stop(err)
		}
		serving <- err
	}()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.reap(work)
	}()
	err := r.restore(work)
	if err == nil {
		err = r.walk(work)
	}
	cancel(err)
	<-serving
	<-watching
	return r.end(ctx, err)
}

// end records how it ended, when that is known, and gives the reason.
func (r *Run) end(ctx context.Context, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.state == run.Done {
		return nil // whatever stopped the hosts of a run that is over
	}
	if r.stopped != nil {
		err = r.stopped
	}
	switch code := fault.CodeOf(err); {
	case err == nil:
		return nil
	case errors.Is(err, ErrCancelled):
		if cerr := r.finish(ctx, run.Cancelled, Record{Type: run.RunCancelled, Payload: object("reason", "cancelled by the user")}); cerr != nil {
			return cerr
		}
		return fault.New(fault.Cancelled, "run %s was cancelled", r.RunID)
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "run %s was interrupted in %s", r.RunID, r.state).
			WithHint("`ramet run resume %s` goes on with it", r.RunID)
	case fatal[code]:
		payload, _ := json.Marshal(run.ItemError{Code: string(code), Message: err.Error()})
		if ferr := r.finish(ctx, run.Failed, Record{Type: run.RunFailed, Payload: payload}); ferr != nil {
			return ferr
		}
	}
	return err
}

// fatal are the reasons for which a run becomes FAILED. For all others it stays where it
// is, and a plain resume goes on.
var fatal = map[fault.Code]bool{fault.GateFailed: true, fault.NoProgress: true, fault.OutputInvalid: true, fault.Failed: true,
	fault.TimedOut: true, fault.LoopDetected: true, fault.Conflict: true, fault.NotFound: true, fault.InvalidRecipe: true,
	fault.ForgeRefused: true, fault.Denied: true, fault.Untrusted: true, fault.InvalidText: true}

// finish ends the run for good: what waits or runs ends with it.
func (r *Run) finish(ctx context.Context, to run.State, why Record) error {
	var records []Record
	var open []*attempt
	for _, e := range r.inOrder() {
		if e.status == run.Pending || e.status == run.InProgress {
			records = append(records, r.failing(e, Failure{Code: string(fault.Cancelled), Message: "the run ended: " + string(to), Retryable: true}))
			open = append(open, e)
		}
	}
	records = append(records, why, r.step(to, ""))
	if err := r.append(ctx, records...); err != nil {
		return err
	}
	r.state = to
	for _, e := range open {
		r.queueOf(e).Cancel(context.WithoutCancel(ctx), e.id) // the orchestrator refuses it anyway
	}
	return nil
}

func object(pairs ...string) []byte {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	data, _ := json.Marshal(m) // strings can always be encoded
	return data
}

// step is the event of a transition.
func (r *Run) step(to run.State, reason string) Record {
	if reason == "" {
		return Record{Type: run.RunStateChanged, Payload: object("old_state", string(r.state), "new_state", string(to))}
	}
	return Record{Type: run.RunStateChanged, Payload: object("old_state", string(r.state), "new_state", string(to), "reason", reason)}
}
