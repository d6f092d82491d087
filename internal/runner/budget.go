package runner

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

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
	for e, err := range r.Log.Events(ctx) {
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

// closing are the events that end what a crash left open.
func (r *Run) closing() []Record {
	var records []Record
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		e := newRecord(run.LLMCallFailed, run.CallFailure{CallID: id, Class: string(fault.Interrupted), Summary: run.Gone, Retryable: true})
		e.Span = r.calls[id]
		records = append(records, e)
	}
	for _, g := range r.looking {
		e := newRecord(run.GateRunFinished, run.GateEnd{Gate: g.gate, Issues: []string{}})
		e.Span = g.span
		records = append(records, e)
	}
	clear(r.calls)
	r.looking = nil
	return records
}

// fixOf is the issue that an item was to mend.
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
