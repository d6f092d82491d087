package session

import (
	"context"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
)

// Wait holds the conditions to wait for: that agents have nothing under way, or a letter.
type Wait struct {
	Agents []agent.Agent // nobody: for a letter alone
	All    bool          // until none of them is busy; else until one is not
	Mail   *agent.Agent  // a letter that lies unread in this mailbox ends it too; nil: none does
}

// Waited is the result of a wait.
type Waited struct {
	Over    bool          // what was waited for has come; else the time was over
	Agents  []agent.Agent // as they are now
	Now     state.Now
	Letters []mail.Letter // unread in the mailbox
}

// Wait returns when what is waited for has come, or after so long a time. It changes
// nothing, and marks no letter. An agent that was killed is not busy.
func (w Turns) Wait(ctx context.Context, x Wait, most time.Duration) (Waited, error) {
	if x.Mail != nil {
		if err := w.ws.may(ctx, "wait for the mail of", *x.Mail); err != nil {
			return Waited{}, err
		}
	}
	until := time.Now().Add(most).Round(0) // the time in which the machine sleeps counts
	late := time.NewTimer(most)
	defer late.Stop()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		out, err := w.waited(ctx, x)
		if err != nil || out.Over || time.Now().After(until) {
			return out, err
		}
		select {
		case <-tick.C:
		case <-late.C:
			until = time.Time{}
		case <-ctx.Done():
			return out, llm.Ended(ctx)
		}
	}
}

// waited looks once.
func (w Turns) waited(ctx context.Context, x Wait) (out Waited, err error) {
	ids := make([]id.Agent, len(x.Agents))
	for i, a := range x.Agents {
		row, err := w.ws.Store.Agent(ctx, a.ID)
		if err != nil {
			return out, err
		}
		ids[i], out.Agents = a.ID, append(out.Agents, row)
	}
	rest := 0
	if len(ids) > 0 {
		if out.Now, err = w.ws.Agents().States(ctx, true, ids...); err != nil {
			return out, err
		}
		for _, a := range out.Agents {
			if !out.Now.Of(a).Busy() {
				rest++
			}
		}
	}
	if x.Mail != nil {
		// After the agents: what they wrote before they ended is there by now.
		if out.Letters, err = w.ws.Store.Letters(ctx, x.Mail.ID, mail.Filter{Unread: true}); err != nil {
			return out, err
		}
	}
	switch {
	case x.All && len(ids) > 0:
		out.Over = rest == len(ids)
	default:
		out.Over = rest > 0 || len(out.Letters) > 0
	}
	return out, nil
}
