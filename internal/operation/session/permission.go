package session

import (
	"context"
	"os"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
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

// IgnoresForeign reports whether the user's settings let rules permit the same calls after an agent read foreign content.
// They are read on each call; while they can't be read, rules ask again.
func (w Turns) IgnoresForeign() bool {
	conf := w.ws.Config
	if w.ws.settings != nil {
		var err error
		if conf, err = w.ws.settings.now(); err != nil {
			return false
		}
	}
	return conf.IgnoresForeign(w.ws.Place.Project, os.Getenv)
}

// SetMode chooses how the calls of an agent, and of those below it who have no mode of
// their own, are permitted. It holds at once, also for a turn that is under way.
func (w Turns) SetMode(ctx context.Context, a agent.Agent, m permit.Mode) error {
	return w.orderMode(ctx, a, permit.ModeEntry(m))
}

// orderMode writes the entry of a mode that a person chose.
func (w Turns) orderMode(ctx context.Context, a agent.Agent, entry history.Draft) error {
	if err := w.ws.person(ctx, "choose a mode"); err != nil {
		return err
	}
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	return w.ws.Agents().order(ctx, a.ID, entry)
}

// A command that was started for an agent is that agent's own, and so is everything that it
// starts, ramet included: what is asked there is asked by the agent, not by the person. The
// operating system knows (System.Agent); nothing in the environment tells.
//
// Such an agent may do by command what it may do by its tools: act on itself and on those
// below it, and write letters in its own name. The same holds for an agent that asks over a
// line on which it showed a token of its own (As).

type asKey struct{}

// As returns ctx for what an agent asks, and no person, wherever this process was started. It
// cannot be made wider: a command of an agent stays that agent's.
func As(ctx context.Context, a id.Agent) context.Context {
	return context.WithValue(history.Unattended(ctx), asKey{}, a)
}

// asks returns the agent that asks; empty: a person does.
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
	if err := w.may(ctx, "append to", a); err != nil || w.asks(ctx) == "" || w.asks(ctx) == a.ID {
		return err
	}
	return w.passForeign(ctx, w.asks(ctx), a.ID)
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
	if err := w.reaches(ctx, "prompt", a); err != nil {
		return err
	}
	return w.passForeign(ctx, own, a)
}

// passForeign marks an agent that is told something by a command of another with the foreign content that this one read.
func (w *Workspace) passForeign(ctx context.Context, from, to id.Agent) error {
	sources, err := history.ForeignOf(ctx, w.Store, from)
	if err != nil || len(sources) == 0 {
		return err
	}
	return w.Agents().order(ctx, to, history.NewForeign(sources...))
}

// A command of an agent is no way around the limits of its tools: what it asks for by command it
// must have a tool for, and a child that it makes has no more than it has at this moment.

// following returns the limits of the agent that asks which end with its turn: those of skills. The
// kernel that runs the turn alone knows them. A person has none.
func (w *Workspace) following(ctx context.Context) ([]history.Limit, error) {
	own := w.asks(ctx)
	if own == "" {
		return nil, nil
	}
	row, err := w.Store.Agent(ctx, own)
	if err != nil {
		return nil, err
	}
	switch {
	case row.Lease.Owner == "":
		return nil, nil
	case w.Kernel == nil || row.Lease.Owner != w.owner():
		return nil, fault.New(fault.Leased, "agent %s is held by %s, which knows its limits and does not carry out this command", own.Short(), row.Lease.Owner)
	}
	return w.Kernel.Following(own), nil
}

// limits returns all that hold for the agent that asks.
func (w *Workspace) limits(ctx context.Context) ([]history.Limit, error) {
	own := w.asks(ctx)
	if own == "" {
		return nil, nil
	}
	out, err := w.following(ctx)
	if err != nil {
		return nil, err
	}
	standing, err := registry.Limits(ctx, w.Store, own)
	for _, l := range standing {
		out = append(out, l.Limit)
	}
	return out, err
}

// needs refuses an agent that asks, unless its limits leave it a tool.
func (w *Workspace) needs(ctx context.Context, what, name string) error {
	limits, err := w.limits(ctx)
	if err != nil {
		return err
	}
	return needs(limits, what, name)
}

func needs(limits []history.Limit, what, name string) error {
	for _, l := range limits {
		if !talk.Allows(l.Tools, tool.Spec{Name: name}, nil) {
			return fault.New(fault.Denied, "%s: this is a command of an agent that has only the tools of %s, without %s", what, l.By, name).
				WithHint("go on without it")
		}
	}
	return nil
}

// Unlimited refuses an agent that asks for what no tool of ours limits, where its own are.
func (w *Workspace) Unlimited(ctx context.Context, what string) error {
	limits, err := w.limits(ctx)
	if err != nil || len(limits) == 0 {
		return err
	}
	return fault.New(fault.Denied, "%s: this is a command of an agent that has only the tools of %s", what, limits[0].By).
		WithHint("say what is needed; the person can do it")
}

// narrow gives the child of an agent that asks what this one follows at the moment.
func (w Agents) narrow(ctx context.Context, c *registry.Child) error {
	now, err := w.ws.following(ctx)
	if err != nil || len(now) == 0 {
		return err
	}
	var drafts []history.Draft
	for _, l := range now {
		drafts = append(drafts, registry.LimitEntry(l))
	}
	at := 0
	if len(c.Entries) > 0 && c.Entries[0].Kind == history.Rewind {
		at = 1
	}
	c.Entries = slices.Insert(c.Entries, at, drafts...)
	return nil
}

// reaches refuses words to one below that has more tools than the agent that asks has at this
// moment, unless it could write a letter.
func (w *Workspace) reaches(ctx context.Context, what string, to id.Agent) error {
	limits, err := w.limits(ctx)
	if err != nil || needs(limits, what, "send") == nil {
		return err
	}
	if err := needs(limits, what, "fork"); err != nil {
		return err
	}
	theirs, err := registry.Limits(ctx, w.Store, to)
	if err != nil {
		return err
	}
	for _, l := range limits {
		if !slices.ContainsFunc(theirs, func(t registry.Limit) bool { return t.By == l.By && slices.Equal(t.Tools, l.Tools) }) {
			return fault.New(fault.Denied, "%s %s: this is a command of an agent that has only the tools of %s, and that one has more", what, to.Short(), l.By).
				WithHint("fork one that has no more")
		}
	}
	return nil
}
