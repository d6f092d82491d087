package driver

import (
	"context"
	"fmt"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// usage writes what the turn used, and that it ended. What went over the wire counts; what the
// program reported does where nothing went there.
func (r *turn) usage(ctx context.Context, answer Stop, why error) {
	if answer.Usage.Total() > 0 {
		r.used = answer.Usage
	}
	if answer.Cost > 0 {
		r.cost = answer.Cost
	}
	wire := r.wired(ctx)
	m := r.about.meta()
	m.Driver.Used = used(r.used, r.cost)
	call := &history.Call{Model: Ref(r.about.Driver, "").String(), Outcome: answer.outcome(), Attempts: 1, TookMS: time.Since(r.began).Milliseconds()}
	if wire.Calls > 0 {
		m.Driver.Wire, m.Driver.Attested = used(wire.Usage, wire.Cost), history.Wire
		call.Priced = true // what it cost stands in the entries of its calls
		r.out.Usage, r.out.Cost = wire.Usage, wire.Cost
	} else {
		call.Input, call.Output, call.CacheRead, call.CacheWrite, call.Reasoning = r.used.Input, r.used.Output, r.used.CacheRead, r.used.CacheWrite, r.used.Reasoning
		call.Cost, call.Priced = int64(r.cost), r.cost > 0
		r.out.Usage, r.out.Cost = r.used, r.cost
	}
	if why != nil {
		m.Reason = state.Why(why)
		call.Outcome = string(fault.CodeOf(why))
	}
	m.Call = call
	drafts := append(r.mismatch(wire), history.Draft{Kind: history.Usage, Meta: m})
	if r.fail(r.write(ctx, drafts...)) {
		return
	}
	r.Emit(loop.Event{Type: loop.Spent, Agent: r.Agent, Usage: r.out.Usage, Cost: r.out.Cost})
}

// wired is what went over the wire in this turn.
func (r *turn) wired(ctx context.Context) gateway.Total {
	if r.about.Wire == nil {
		return gateway.Total{}
	}
	return r.about.Wire(context.WithoutCancel(ctx)).Since(r.before)
}

// mismatch is a note where the program reported something else than what went over the wire. What
// it does not report at all, and what was cut before anybody counted it, is none.
func (r *turn) mismatch(wire gateway.Total) []history.Draft {
	said, counted := r.used.Total(), wire.Usage.Total()
	if wire.Calls == 0 || wire.Uncounted > 0 || said == 0 || said == counted {
		return nil
	}
	m := r.about.meta()
	m.Command = history.MismatchCommand
	m.Driver.Used, m.Driver.Wire = used(r.used, r.cost), used(wire.Usage, wire.Cost)
	text := fmt.Sprintf("mismatch: %s reported %d tokens, and %d went over the wire", r.about.Driver, said, counted)
	return []history.Draft{{Kind: history.Note, Meta: m, Parts: []history.Part{{Type: history.Text, Text: text}}}}
}

func used(u llm.Usage, cost llm.Money) *history.Used {
	return &history.Used{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning, Cost: int64(cost)}
}
