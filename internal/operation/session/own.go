package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// A command that was started for an agent is that agent's own, and so is everything that it
// starts, ramet included: what is asked there is asked by the agent, not by the person. The
// operating system knows (System.Agent); nothing in the environment tells.
//
// Such an agent may do by command what it may do by its tools: act on itself and on those
// below it, and write letters in its own name. The same holds for an agent that asks over a
// line on which it showed a token of its own (As).

type asKey struct{}

// As is ctx for what an agent asks, and no person, wherever this process was started. It
// cannot be made wider: a command of an agent stays that agent's.
func As(ctx context.Context, a id.Agent) context.Context {
	return context.WithValue(history.Unattended(ctx), asKey{}, a)
}

// asks is the agent that asks; empty: a person does.
func (w *Workspace) asks(ctx context.Context) id.Agent {
	if w.own != "" {
		return w.own
	}
	a, _ := ctx.Value(asKey{}).(id.Agent)
	return a
}

// NeedPerson refuses what only a person may do to the agent whose command this process carries out, and to
// one that calls in its own name (As).
func NeedPerson(ctx context.Context, what string, own func() (id.Agent, bool)) error {
	a, _ := ctx.Value(asKey{}).(id.Agent)
	if own != nil {
		if by, ok := own(); ok {
			a = by
		}
	}
	if a == "" {
		return nil
	}
	return fault.New(fault.Denied, "%s: only a person may, and this is a command of agent %s", what, a.Short()).
		WithHint("say what is needed; the person can do it")
}

// Own returns the agent whose command this process carries out.
func (s *Session) Own() (id.Agent, bool) {
	if s.System.Agent == nil {
		return "", false
	}
	return s.System.Agent()
}

// may refuses an agent that reaches for another than itself and those below it.
func (w *Workspace) may(ctx context.Context, what string, a agent.Agent) error {
	own := w.asks(ctx)
	if own == "" || a.ID == own {
		return nil
	}
	for up := a; up.Parent != ""; {
		if up.Parent == own {
			return nil
		}
		var err error
		if up, err = w.Store.Agent(ctx, up.Parent); err != nil {
			return err
		}
	}
	return fault.New(fault.Denied, "%s %s: this is a command of agent %s, which may act on itself and its subtree", what, a.Label(), own.Short()).
		WithHint("send it mail with `ramet send`")
}

// person refuses what only a person may do to an agent.
func (w *Workspace) person(ctx context.Context, what string) error {
	return NeedPerson(ctx, what, w.Own)
}

// Own returns the agent whose command this process carries out.
func (w *Workspace) Own() (id.Agent, bool) { return w.own, w.own != "" }

// Admit returns the agent that asks, empty for a person, or refuses it: what only persons may do, and
// what needs a tool that the agent's limits do not leave it.
func (w *Workspace) Admit(ctx context.Context, what string, persons bool, tool string) (id.Agent, error) {
	own := w.asks(ctx)
	if own == "" {
		return "", nil
	}
	if persons {
		return own, w.person(ctx, what)
	}
	if tool != "" {
		return own, w.needs(ctx, what, tool)
	}
	return own, nil
}

// maySay refuses words in an agent's history that are not those of who writes them.
func (w *Workspace) maySay(ctx context.Context, a agent.Agent, kind history.Kind) error {
	if kind == history.User || kind == history.System {
		return w.person(ctx, "append a message of kind "+string(kind))
	}
	return w.may(ctx, "append to", a)
}

// sender returns the sender of a letter: the agent whose command this is writes in its own name.
func (w *Workspace) sender(ctx context.Context, from *agent.Agent) (*agent.Agent, error) {
	by := w.asks(ctx)
	if by == "" {
		return from, nil
	}
	if err := w.needs(ctx, "send", "send"); err != nil {
		return nil, err
	}
	if from != nil {
		return from, w.may(ctx, "send mail of", *from)
	}
	own, err := w.Store.Agent(ctx, by)
	return &own, err
}

// mayPrompt refuses a prompt, which is a person's word, to another than those below.
func (w *Workspace) mayPrompt(ctx context.Context, a id.Agent) error {
	own := w.asks(ctx)
	if own == "" {
		return nil
	}
	found, err := w.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	if found.ID == own {
		return w.person(ctx, "prompt the agent whose command this is")
	}
	if err := w.may(ctx, "prompt", found); err != nil {
		return err
	}
	return w.reaches(ctx, "prompt", a)
}
