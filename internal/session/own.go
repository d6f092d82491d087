package session

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
)

// A command that was started for an agent is that agent's own, and so is everything that it
// starts, ramet included: what is asked there is asked by the agent, not by the person. The
// operating system knows (System.Agent); nothing in the environment tells.
//
// Such an agent may do by command what it may do by its tools: act on itself and on those
// below it, and write letters in its own name.

// Person refuses what only a person may do.
func (s *Session) Person(what string) error {
	own, ok := s.by()
	if !ok {
		return nil
	}
	return fault.New(fault.Denied, "%s: only a person may, and this is a command of agent %s", what, own.Short()).
		WithHint("say what is needed; the person can do it")
}

// by is the agent whose command this is.
func (s *Session) by() (id.Agent, bool) {
	if s.System.Agent == nil {
		return "", false
	}
	return s.System.Agent()
}

// may refuses an agent that reaches for another than itself and those below it.
func (w *Workspace) may(ctx context.Context, what string, a agent.Agent) error {
	if w.own == "" || a.ID == w.own {
		return nil
	}
	for up := a; up.Parent != ""; {
		if up.Parent == w.own {
			return nil
		}
		var err error
		if up, err = w.Store.Agent(ctx, up.Parent); err != nil {
			return err
		}
	}
	return fault.New(fault.Denied, "%s %s: this is a command of agent %s, which may act on itself and on those below it", what, a.Label(), w.own.Short()).
		WithHint("write it a letter with `ramet send`")
}

// person refuses what only a person may do to an agent.
func (w *Workspace) person(what string) error {
	if w.own == "" {
		return nil
	}
	return fault.New(fault.Denied, "%s: only a person may, and this is a command of agent %s", what, w.own.Short()).
		WithHint("say what is needed; the person can do it")
}

// maySay refuses words in an agent's history that are not those of who writes them.
func (w *Workspace) maySay(ctx context.Context, a agent.Agent, kind history.Kind) error {
	if kind == history.User || kind == history.System {
		return w.person("append a message of kind " + string(kind))
	}
	return w.may(ctx, "append to", a)
}

// sender is who a letter is from: the agent whose command this is writes in its own name.
func (w *Workspace) sender(ctx context.Context, from *agent.Agent) (*agent.Agent, error) {
	if w.own == "" {
		return from, nil
	}
	if from != nil {
		return from, w.may(ctx, "send a letter of", *from)
	}
	own, err := w.Store.Agent(ctx, w.own)
	return &own, err
}

// mayPrompt refuses a prompt, which is a person's word, to another than those below.
func (w *Workspace) mayPrompt(ctx context.Context, a id.Agent) error {
	if w.own == "" {
		return nil
	}
	found, err := w.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	if found.ID == w.own {
		return w.person("prompt the agent whose command this is")
	}
	return w.may(ctx, "prompt", found)
}
