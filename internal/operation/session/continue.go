package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/kernel"
	"ramet/internal/turn/loop"
)

// Continued is a turn that goes on after an interruption.
type Continued struct {
	Agent agent.Agent
	turn  *kernel.Turn
	err   error // it did not begin
	// Behind is the newest letter of its parent, where that one does not go on itself; what comes
	// behind it nobody may read.
	Behind int64
	// Alone reports that its parent does not continue.
	Alone bool
}

// Wait returns when the turn and the tasks that came from it are over.
func (c Continued) Wait(ctx context.Context) (loop.Outcome, error) {
	if c.err != nil {
		return loop.Outcome{}, c.err
	}
	o, err := c.turn.Wait()
	return o, errors.Join(err, c.turn.Tasks(ctx))
}

// ContinueAll goes on with everything that was interrupted, in the kernel of this process;
// those below first, so that who waits for them finds them at work. Agents of runs are left
// to their runs. terms may be nil.
func (w Turns) ContinueAll(ctx context.Context, terms *kernel.Terms) ([]Continued, error) {
	if err := w.ws.person(ctx, "continue"); err != nil {
		return nil, err
	}
	all, err := w.ws.Agents().Everybody(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[id.Agent]bool{}
	var cut []agent.Agent
	for _, a := range all.All { // parents come before children
		runs[a.ID] = strings.HasPrefix(a.Name, RunName) || runs[a.Parent]
		if a.Status == agent.Running && !runs[a.ID] && all.States[a.ID].Resumes() {
			cut = append(cut, a)
		}
	}
	slices.SortStableFunc(cut, func(a, b agent.Agent) int { return cmp.Compare(b.Depth, a.Depth) })
	out := make([]Continued, len(cut))
	for i, a := range cut {
		if out[i].Alone = !a.IsZero() && !slices.ContainsFunc(cut, func(b agent.Agent) bool { return b.ID == a.Parent }); out[i].Alone {
			if out[i].Behind, err = w.ws.Mail().Newest(ctx, a.Parent); err != nil {
				return nil, err
			}
		}
	}
	for i, a := range cut {
		out[i].Agent = a
		out[i].turn, out[i].err = w.ws.Kernel.Exec(ctx, a.ID, kernel.Prompt{Again: true, Terms: terms})
	}
	return out, nil
}

// Newest is the number of the newest letter in a mailbox that was not read; 0: there is none. What comes
// later has a larger one, so that Unread tells it from what waits already; those that were read, which
// may be many, tell nothing.
func (w Mail) Newest(ctx context.Context, owner id.Agent) (int64, error) {
	letters, err := w.ws.Store.Letters(ctx, owner, mail.Filter{Unread: true})
	var newest int64
	for _, l := range letters {
		newest = max(newest, l.Number)
	}
	return newest, err
}

// Unread are the letters of agents, and notices about them, that came behind a number and
// were not read.
func (w Mail) Unread(ctx context.Context, owner id.Agent, behind int64) ([]mail.Letter, error) {
	letters, err := w.ws.Store.Letters(ctx, owner, mail.Filter{Unread: true})
	return slices.DeleteFunc(letters, func(l mail.Letter) bool { return l.Number <= behind || l.From == "" }), err
}
