package runner

import (
	"context"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

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
	gates    map[string]bool
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
