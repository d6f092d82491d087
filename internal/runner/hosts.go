package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// reap takes the items of dead hosts back, until ctx ends.
func (r *Run) reap(ctx context.Context) {
	if r.Hosts == nil {
		return
	}
	// A host shows itself three times a lease, and is looked for twice as often: when it dies,
	// its items wait for a lease and a sixth at most.
	tick := time.NewTicker(max(cmp.Or(r.Look, r.Lease/6), 10*time.Millisecond))
	defer tick.Stop()
	missed := map[string]time.Time{} // since when hosts that have items are on no list
	remind := time.Now()
	for last := wallTime(); ; last = wallTime() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if wallTime().Sub(last) > asleep {
			if err := r.wakeUp(ctx); err != nil {
				r.Stop(err)
				return
			}
		}
		if time.Since(remind) > r.Lease {
			remind = time.Now()
			r.remind(ctx) // what fails is told again after another lease
		}
		hosts, err := r.Hosts(ctx)
		if err != nil {
			continue // the database is asked again; what is written meanwhile fails by itself
		}
		for _, h := range r.gone(hosts, missed) {
			if err := r.Lose(ctx, h); err != nil {
				r.Stop(err)
				return
			}
			r.Forget(ctx, h) // if it fails, it is lost once more
		}
	}
}

// asleep is the suspension of this process after which others may have given it up; see post.
const asleep = 10 * time.Second

// wallTime returns the time without the monotonic part, which stops while a machine sleeps.
func wallTime() time.Time { return time.Now().Round(0) }

// wakeUp comes back after the process or its machine was stopped: workers have given up what
// they were doing, as no answer came.
func (r *Run) wakeUp(ctx context.Context) error {
	for _, h := range r.holders() {
		if !slices.Contains(r.Here, h) {
			if err := r.Lose(ctx, h); err != nil {
				return err
			}
		}
	}
	return r.remind(ctx)
}

// remind enqueues again what waits for other hosts: the queue may have lost it, or a host
// gave it back.
func (r *Run) remind(ctx context.Context) error {
	r.mu.Lock()
	var waiting []Enqueued
	for _, e := range r.byID {
		if e.status == run.Pending && e.sent && r.stopped == nil && r.queueName(e) != Local {
			waiting = append(waiting, r.enqueued(e))
		}
	}
	r.mu.Unlock()
	if len(waiting) == 0 {
		return nil
	}
	slices.SortFunc(waiting, func(a, b Enqueued) int { return cmp.Compare(a.ID, b.ID) })
	return r.Far.Enqueue(ctx, waiting...)
}

// gone are the hosts that are dead, and those that have items and have been on no list for
// a lease: they left unnoticed, or another run has removed them.
func (r *Run) gone(hosts map[string]bool, missed map[string]time.Time) []string {
	var out []string
	for h, alive := range hosts {
		delete(missed, h)
		if !alive {
			out = append(out, h)
		}
	}
	for _, h := range r.holders() {
		since, late := missed[h]
		switch _, listed := hosts[h]; {
		case listed:
		case !late:
			missed[h] = time.Now()
		case time.Since(since) > r.Lease:
			delete(missed, h)
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// holders are the hosts that are doing items.
func (r *Run) holders() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.byID {
		if e.status == run.InProgress && !slices.Contains(out, e.host) {
			out = append(out, e.host)
		}
	}
	return out
}

// Lose takes back what a host was doing: it is dead, or was cut off for too long.
func (r *Run) Lose(ctx context.Context, host string) error {
	r.mu.Lock()
	var lost []*attempt
	for _, e := range r.byID {
		if e.status == run.InProgress && e.host == host {
			lost = append(lost, e)
		}
	}
	slices.SortFunc(lost, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	var old []string
	for _, e := range lost {
		old = append(old, e.id)
		f := Failure{Code: string(fault.Interrupted), Message: "host " + host + " is gone", Retryable: true}
		if w, _ := r.worker(e.worker); w.External {
			f.Message += "; whether it acted is not known"
			if !looksUpOutcome(w) { // else the next attempt finds out
				f.Code, f.Retryable, f.Unknown = string(fault.UnknownOutcome), false, true
			}
		}
		if err := r.settle(ctx, e, nil, &f); err != nil {
			r.mu.Unlock()
			return err
		}
	}
	r.mu.Unlock()
	for _, id := range old {
		r.Far.Cancel(ctx, id) // its host does not hear it; the orchestrator refuses it anyway
	}
	// What it had taken and not begun is handed out again.
	_, err := r.Far.Takeover(ctx, host)
	return err
}
