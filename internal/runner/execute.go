package runner

import (
	"context"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Cancelled is the cause of a stop for good: the run becomes CANCELLED for this reason.
type Cancelled struct{ Reason string }

func (c *Cancelled) Error() string { return "the run was cancelled: " + c.Reason }

// ErrAgentEnded is the cause of a stop when the run's own agent is dead, though the run was not cancelled.
var ErrAgentEnded = errors.New("the run's own agent was ended")

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
				WithHint("`ramet run resume %s` continues it with as much time again", r.RunID))
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
	cancelled, ok := errors.AsType[*Cancelled](err)
	switch code := fault.CodeOf(err); {
	case err == nil:
		return nil
	case ok:
		if cerr := r.finish(ctx, run.Cancelled, newRecord(run.RunCancelled, run.Why{Reason: cancelled.Reason})); cerr != nil {
			return cerr
		}
		return fault.New(fault.Cancelled, "run %s was cancelled", r.RunID)
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "run %s was interrupted in %s", r.RunID, r.state).
			WithHint("`ramet run resume %s` continues it", r.RunID)
	case fatal[code]:
		if ferr := r.finish(ctx, run.Failed, newRecord(run.RunFailed, run.ItemError{Code: string(code), Message: err.Error()})); ferr != nil {
			return ferr
		}
	}
	return err
}

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

// walk goes from state to state. The work of a transitional state is done in it, that
// of a stable one before it is entered.
func (r *Run) walk(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		next, err := r.onwards(ctx)
		if err != nil {
			return err
		}
		if next.Stable() {
			if err := r.work(ctx, next); err != nil {
				return err
			}
		}
		if err := r.enter(ctx, next); err != nil || next == run.Done {
			return err
		}
	}
}

// onwards does what is left to do in the present state and finds the next.
func (r *Run) onwards(ctx context.Context) (run.State, error) {
	state := r.now()
	switch state {
	case run.Validating:
		return r.validate(ctx)
	case run.Drafting, run.Linking, run.Fixing:
		if err := r.work(ctx, state); err != nil {
			return "", err
		}
	}
	return state.Next("")[0], nil
}

func (r *Run) now() run.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// enter changes the state, and with it those of the sections.
func (r *Run) enter(ctx context.Context, to run.State) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped != nil {
		return r.stopped
	}
	var records []Record
	switch to {
	case run.PlanReady:
		records = r.allSections(run.Outlined)
	case run.Validating:
		if r.state == run.Linking {
			records = r.allSections(run.Merged)
		}
	case run.ReadyForPR:
		records = r.allSections(run.Validated)
	case run.Done:
		records = append(records, Record{Type: run.RunCompleted, Payload: []byte("{}")})
	}
	if err := r.append(ctx, append(records, r.step(to, ""))...); err != nil {
		return err
	}
	r.state = to
	return nil
}

// work does all the work of a state, level by level: a worker's inputs are there before
// it begins.
func (r *Run) work(ctx context.Context, state run.State) error {
	for _, level := range r.Recipe.Order(state) {
		if err := r.level(ctx, level); err != nil {
			return err
		}
	}
	return nil
}
