package runner

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
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
func (r *Run) finish(ctx context.Context, to run.State, why run.Request) error {
	var records []run.Request
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
		queue := r.Far
		if r.queueName(e) == Local {
			queue = r.Near
		}
		queue.Cancel(context.WithoutCancel(ctx), e.id) // the orchestrator refuses it anyway
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
	var records []run.Request
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
		records = append(records, run.Request{Type: run.RunCompleted, Payload: []byte("{}")})
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
func (r *Run) outcomes(p run.Plan, records *[]run.Request) error {
	var lost []string
	for _, u := range p.Unknown {
		e := r.byID[u.WorkItemID]
		if e == nil {
			continue
		}
		w, _ := r.worker(e.worker)
		if !w.LooksUp() {
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

// afford refuses a call for which nothing is left. The caller holds mu.
func (r *Run) afford() error {
	over := func(what string, spent, limit any) error {
		return fault.New(fault.BudgetExceeded, "run %s: %s: %v of %v are used up", r.RunID, what, spent, limit).
			WithHint("`ramet run resume %s --limit %s=MORE` continues it", r.RunID, what)
	}
	switch l := r.limits; {
	case l.Calls > 0 && r.spent.calls >= l.Calls:
		return over("calls", r.spent.calls, l.Calls)
	case l.Tokens > 0 && r.spent.tokens >= l.Tokens:
		return over("tokens", r.spent.tokens, l.Tokens)
	case l.CostUSD > 0 && r.spent.dollars >= l.CostUSD:
		return over("cost_usd", r.spent.dollars, l.CostUSD)
	}
	return nil
}

// left returns the rest that the run may use, within the limits that a program can enforce; nil without limits. If
// nothing is left it returns the smallest amount, so that the call is refused before it begins. The caller holds mu.
func (r *Run) left() *Left {
	out := Left{}
	if r.limits.Tokens > 0 {
		out.Tokens = max(1, r.limits.Tokens-r.spent.tokens)
	}
	if r.limits.CostUSD > 0 {
		out.CostUSD = max(1e-9, r.limits.CostUSD-r.spent.dollars)
	}
	if out == (Left{}) {
		return nil
	}
	return &out
}

// recount reads from the log what was spent, and how often issues were mended since the
// run was last reopened.
func (r *Run) recount(ctx context.Context) error {
	for e, err := range r.Log.Events(ctx, 0) {
		if err != nil {
			return err
		}
		switch e.Type {
		case run.RunReopened:
			clear(r.fixed)
			r.rounds = 0
		case run.RunStateChanged:
			if run.ReadPayload[run.Step](e.Payload).New == run.Fixing {
				r.rounds++
			}
		case run.WorkItemFinished, run.WorkItemFailed:
			var p run.ItemFailure // or run.Finished, which has no error
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				return fault.New(fault.EventChainBroken, "event %s: %w", e.ID, err)
			}
			if scope, ok := r.fixOf(p.WorkItemID); ok && p.Error.Code != string(fault.Interrupted) {
				r.fixed[scope]++
			}
		default:
			r.spent.add(e.Type, e.Payload)
			r.notice(e)
		}
	}
	return nil
}

// notice keeps what an event leaves open: its writer may have died then.
func (r *Run) notice(e run.Entry) {
	switch e.Type {
	case run.LLMCallStarted:
		r.calls[callID(e.Payload)] = e.SpanID
	case run.LLMCallFinished, run.LLMCallFailed:
		delete(r.calls, callID(e.Payload))
	case run.GateRunStarted:
		r.looking = append(r.looking, gateRun{run.ReadPayload[run.GateStart](e.Payload).Gate, e.SpanID})
	case run.GateRunFinished:
		gate := run.ReadPayload[run.GateEnd](e.Payload).Gate
		r.looking = slices.DeleteFunc(r.looking, func(g gateRun) bool { return g.gate == gate })
	}
}

// closing returns the events that end what a crash left open.
func (r *Run) closing() []run.Request {
	var records []run.Request
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		e := newRecord(run.LLMCallFailed, run.CallFailure{CallID: id, Class: string(fault.Interrupted), Summary: run.Gone, Retryable: true})
		e.SpanID = r.calls[id]
		records = append(records, e)
	}
	for _, g := range r.looking {
		e := newRecord(run.GateRunFinished, run.GateEnd{Gate: g.gate, Issues: []string{}})
		e.SpanID = g.span
		records = append(records, e)
	}
	clear(r.calls)
	r.looking = nil
	return records
}

// fixOf returns the issue that an item was to mend.
func (r *Run) fixOf(itemID string) (string, bool) {
	for _, scope := range r.fixes {
		for _, name := range r.Recipe.States[run.Fixing] {
			w, _ := r.worker(name)
			e := r.items[item{name, scope}]
			if !w.Each.Issue || e == nil {
				continue
			}
			for n := int64(1); n <= e.number; n++ {
				if itemID == run.ItemID(r.RunID, name, n, scope) {
					return scope, true
				}
			}
		}
	}
	return "", false
}

// spending counts what the model calls of a run used.
type spending struct {
	calls, tokens int64
	dollars       float64
}

// add counts an event of a model call.
func (s *spending) add(t run.Type, payload []byte) {
	switch t {
	case run.LLMCallStarted:
		s.calls++
	case run.LLMCallFinished:
		p := run.ReadPayload[run.CallEnd](payload) // the log checks its form
		s.tokens += p.Usage.Total
		if p.CostUSD != nil {
			s.dollars += *p.CostUSD
		}
	}
}
