package kernel

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// Door opens a way to the vendors for the program of an agent: what goes through is set aside
// in the budgets that bind the agent, counted, and written into its history. It is cut when
// the agent is killed and when the kernel stops; whoever opened it closes it when the program
// has ended.
func (k *Kernel) Door(ctx context.Context, w gateway.Way) (*gateway.Door, error) {
	if _, err := k.living(ctx, w.Agent); err != nil {
		return nil, err
	}
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	if k.gate.shut {
		return nil, errStopped()
	}
	if k.gate.open == nil {
		open, err := gateway.Open(gateway.Options{Reserver: k.reserver, Record: k.wired, Upstream: k.Vendors, MCP: k.MCP, Clamp: k.Clamp, Bodies: k.Bodies != nil})
		if err != nil {
			return nil, err
		}
		k.gate.open = open
	}
	return k.gate.open.Door(w)
}

// wired writes a call that went through the gateway into the history of its agent, as our own
// calls are.
func (k *Kernel) wired(ctx context.Context, r gateway.Record) error {
	outcome := "status " + strconv.Itoa(r.Status)
	switch {
	case !r.Counted:
		outcome = "abandoned"
	case r.Status < 300:
		outcome = "stop"
	}
	call := &history.Call{Model: r.Vendor + "/" + r.Model, Request: r.Request, Response: r.Response, Outcome: outcome, Attempts: 1,
		Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite, Reasoning: r.Usage.Reasoning,
		Asked: r.Asked, Cost: int64(r.Cost), Priced: r.Priced, FirstMS: r.First.Milliseconds(), TookMS: r.Took.Milliseconds()}
	var parts []history.Part
	for _, body := range [][]byte{r.Sent, r.Received} {
		if k.Bodies != nil && body != nil {
			parts = append(parts, history.Part{Type: history.Text, Text: k.Bodies(strings.ToValidUTF8(string(body), "\uFFFD"))})
		}
	}
	meta := history.Meta{Call: call, Driver: &history.Driver{Name: r.Driver, Attested: history.Wire}}
	err := k.entitled(ctx, r.Agent, func(c agent.Claim) error {
		_, err := k.Store.Append(ctx, r.Agent, c, history.Draft{Kind: history.Usage, Meta: meta, Parts: parts})
		return err
	})
	k.drafts.moved(r.Agent)
	return err
}

// gate is the kernel's gateway, which opens with the first program that needs one.
type gate struct {
	mu   sync.Mutex
	open *gateway.Gate // guarded by mu
	shut bool          // the kernel has stopped; guarded by mu
}

// cut closes the ways of agents that are dead.
func (g *gate) cut(victims []id.Agent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		g.open.Cut(victims...)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = true; g.open != nil {
		g.open.Close()
	}
}

// budget is the rest that an agent may spend: the least of its own budget and those of its ancestors, because each
// covers a subtree.
type budget struct {
	kernel *Kernel
	agent  id.Agent
}

// Left implements loop.Budget.
func (b budget) Left(ctx context.Context) error { return b.kernel.reserver.Left(ctx, b.agent) }

// Reserve implements loop.Budget.
func (b budget) Reserve(ctx context.Context, w loop.Worst) (loop.Reserved, error) {
	held, err := b.kernel.reserver.Reserve(ctx, gateway.Call{Agent: b.agent, Model: w.Model.String(), Input: w.Input, Output: w.Output, Least: w.Least,
		Price: w.Price, Priced: w.Priced, Search: w.Search})
	if err != nil {
		return loop.Reserved{}, err
	}
	return loop.Reserved{Output: held.Output, Bound: held.Bound, Settle: func(ctx context.Context) {
		if err := held.Settle(ctx); err != nil {
			b.kernel.note(b.agent, "what was set aside for a call counts as spent: "+err.Error())
		}
	}}, nil
}

// rest holds the amounts that an agent may still spend.
type rest struct {
	Tokens *int64     // nil: no limit
	Cost   *llm.Money // nil: no limit
}

// restOf returns the least that the budgets of an agent and its ancestors leave.
func restOf(ctx context.Context, store registry.Budgets, a id.Agent) (rest, error) {
	var out rest
	limits, err := store.Allowances(ctx, a)
	for _, l := range limits {
		tokens, cost, bound, priced := l.Left()
		if bound && (out.Tokens == nil || tokens < *out.Tokens) {
			out.Tokens = &tokens
		}
		if money := llm.Money(cost); priced && (out.Cost == nil || money < *out.Cost) {
			out.Cost = &money
		}
	}
	return out, err
}
