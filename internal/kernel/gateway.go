package kernel

import (
	"context"
	"strconv"
	"strings"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/gateway"
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
