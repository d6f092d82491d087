package session

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/permit"
)

// Attended is ctx for what the person at the command line does; where an agent's command
// is carried out, nobody is there.
func (s *Session) Attended(ctx context.Context) context.Context {
	if _, own := s.Own(); own || history.ActorOf(ctx) != nil {
		return ctx
	}
	return history.ByWhom(ctx, func() history.Actor { return history.Actor{Who: s.User(), Face: history.CLI} })
}

// Standing holds the permissions of an agent: the mode that was chosen for it, or
// the setting (then Of is empty), and what persons granted.
func (w Turns) Standing(ctx context.Context, a agent.Agent) (permit.Standing, error) {
	found, err := permit.Look(ctx, w.ws.Store, a.ID)
	if err != nil || found.Mode != "" {
		return found, err
	}
	_, found.Mode, err = w.Unasked()
	return found, err
}

// Unasked returns what the user's settings permit without a question, and the mode of agents for which none
// was chosen. They are read on each call, as saved rules are: what a person takes back, here or in
// another process, counts for the next call.
func (w Turns) Unasked() (rules []permit.Rule, mode permit.Mode, err error) {
	conf := w.ws.Config
	if w.ws.settings != nil {
		if conf, err = w.ws.settings.now(); err != nil {
			return nil, "", err
		}
	}
	if rules, err = permit.ParseAll(conf.Allow); err != nil {
		return nil, "", err
	}
	mode = permit.Ask
	if conf.Permission != "" {
		mode, err = permit.ParseMode(conf.Permission)
	}
	return rules, mode, err
}

// SetMode chooses how the calls of an agent, and of those below it who have no mode of
// their own, are permitted. It holds at once, also for a turn that is under way.
func (w Turns) SetMode(ctx context.Context, a agent.Agent, m permit.Mode) error {
	if err := w.ws.person(ctx, "choose a mode"); err != nil {
		return err
	}
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	return w.ws.Agents().order(ctx, a.ID, permit.ModeEntry(m))
}
