package runner

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// begin records what a resume has to do before work continues: as planned, or nothing for
// a run that has only been made.
func (r *Run) begin(ctx context.Context, p run.Plan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	records := r.closing()
	back := run.State("")
	switch {
	case p.Reopen:
		records = append(records, newRecord(run.RunReopened, run.Why{}), r.step(p.Resume, run.ReasonReopen))
		back = p.Resume
	case p.Rewind:
		reason := run.ReasonRewind
		if to, ok := r.state.RewindTo(); !ok || to != p.Resume {
			reason = run.ReasonForce
		}
		records = append(records, newRecord(run.ResumeRewind, run.Rewind{From: r.state, To: p.Resume}),
			r.step(p.Resume, reason))
		back = p.Resume
	}
	if err := r.outcomes(p, &records); err != nil {
		return err
	}
	for _, d := range p.Discard {
		if e := r.byID[d.WorkItemID]; e != nil {
			records = append(records, r.failing(e, interrupted))
		}
	}
	for _, e := range r.inOrder() {
		// A fork has it from another run, under whose name queues and hosts would look for it.
		if e.status == run.Pending && !strings.HasPrefix(e.id, r.RunID+":") {
			records = append(records, r.failing(e, interrupted))
		}
	}
	for _, q := range p.Queue {
		e := r.items[item{q.Worker, q.ScopeKey}]
		if e == nil {
			continue
		}
		// It is queued when its state needs it. What only depends on something that changed
		// is looked at then: it may come out as it was.
		if q.Asked && (e.status == run.Completed || e.status == run.ItemSkipped) || e.status == run.ItemFailed && !e.retry {
			records = append(records, invalidateRecord(e, q.Why))
			e.status, e.code, e.retry = run.ItemFailed, run.Invalidated, true
		}
	}
	if err := r.append(ctx, records...); err != nil {
		return err
	}
	if back != "" {
		r.state = back
	}
	if p.Reopen {
		clear(r.fixed)
		r.rounds, r.anew = 0, true
	}
	return nil
}

var interrupted = Failure{Code: string(fault.Interrupted), Message: run.Gone, Retryable: true}

// restore makes sure that what the states so far promise is there: it does again what is
// missing or was changed.
func (r *Run) restore(ctx context.Context) error {
	now := r.now()
	for _, s := range run.States() {
		if s != run.Validating && s != run.Fixing {
			if err := r.work(ctx, s); err != nil {
				return err
			}
		}
		if s == now {
			return nil
		}
	}
	return nil
}

// outcomes settles the external effects with an unknown outcome: those that can be looked up are, by their next
// attempt.
func (r *Run) outcomes(p run.Plan, records *[]Record) error {
	var lost []string
	for _, u := range p.Unknown {
		e := r.byID[u.WorkItemID]
		if e == nil {
			continue
		}
		w, _ := r.worker(e.worker)
		if !looksUpOutcome(w) {
			lost = append(lost, u.WorkItemID)
			continue
		}
		*records = append(*records, r.failing(e, interrupted))
	}
	if len(lost) > 0 {
		return fault.New(fault.UnknownOutcome, "run %s: it is not known whether these acted: %s", r.RunID, strings.Join(lost, ", ")).
			WithHint("look, then `ramet run resume %s --redo ITEM` to do one again", r.RunID)
	}
	return nil
}
