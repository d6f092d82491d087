package runner

import (
	"context"
	"slices"
	"time"

	"ramet/internal/fault"
	"ramet/internal/run"
)

// bury takes the items of dead hosts back, until ctx ends.
func (r *Run) bury(ctx context.Context) {
	if r.Dead == nil {
		return
	}
	tick := time.NewTicker(max(r.Lease/3, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		hosts, err := r.Dead(ctx)
		if err != nil {
			continue // the database is asked again; what is written meanwhile fails by itself
		}
		for _, h := range hosts {
			if err := r.Lose(ctx, h); err != nil {
				r.Stop(err)
				return
			}
		}
	}
}

// Lose takes back what a host was doing: it is dead, or was cut off for too long.
func (r *Run) Lose(ctx context.Context, host string) error {
	r.mu.Lock()
	var lost []*effort
	for _, e := range r.byID {
		if e.status == run.InProgress && e.host == host {
			lost = append(lost, e)
		}
	}
	slices.SortFunc(lost, func(a, b *effort) int { return compare(a.id, b.id) })
	var old []string
	for _, e := range lost {
		old = append(old, e.id)
		f := Failure{Code: string(fault.Interrupted), Message: "host " + host + " is gone", Retryable: true}
		if w, _ := r.worker(e.worker); w.External {
			f = Failure{Code: string(fault.UnknownOutcome), Message: "host " + host + " is gone; whether it acted is not known", Unknown: true}
		}
		if err := r.settle(ctx, e, nil, &f); err != nil {
			r.mu.Unlock()
			return err
		}
	}
	r.mu.Unlock()
	for _, id := range old {
		r.Far.Cancel(ctx, id) // its host does not hear it; the desk refuses it anyway
	}
	// What it had taken and not begun is handed out again.
	_, err := r.Far.Takeover(ctx, host)
	return err
}
