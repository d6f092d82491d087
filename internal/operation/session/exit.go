package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
)

// Leave ends the agent that asks: its last words are in its parent's mailbox when it
// returns, and end, which the caller calls after its answer, ends the agent and what it runs; its
// children live on.
func (w Turns) Leave(ctx context.Context, result string) (end func(), err error) {
	own := w.ws.asks(ctx)
	if own == "" {
		return nil, fault.New(fault.Usage, "only an agent can end itself").WithHint("kill ends one")
	}
	me, err := w.ws.Store.Agent(ctx, own)
	if err != nil {
		return nil, err
	}
	if me.IsZero() {
		return nil, fault.New(fault.AgentZero, "you are agent 0, which cannot end").WithHint("just stop: say your last words")
	}
	if err := agent.NeedLiving(me); err != nil {
		return nil, err
	}
	if result != "" {
		if err := mail.CheckBody(result); err != nil {
			return nil, err
		}
		parent, err := w.ws.Store.Agent(ctx, me.Parent)
		if err != nil {
			return nil, err
		}
		if _, err := w.ws.Mail().Send(ctx, Letter{To: parent, Body: result}); err != nil && !fault.Is(err, fault.DeadAgent) {
			return nil, err
		}
	}
	cascade := false
	ctx = context.WithoutCancel(ctx)
	return func() { _, _ = w.ws.Agents().Kill(ctx, Kill{Agent: me, Cascade: &cascade, Reason: "exited"}) }, nil // who died meanwhile has ended
}
