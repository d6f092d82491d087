package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/operation/public"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
)

// ours is a hook of a configuration.
func ours(c config.Hook) hook.Hook {
	return hook.Hook{Event: hook.Event(c.Event), Matcher: c.Matcher, Command: c.Command, Timeout: c.Timeout, Required: c.Required,
		Project: c.Project, From: c.Where}
}

// HooksOf are the hooks for what an agent does, whose tools may work in another folder instead;
// nil: there are none. Where it cannot be known which there are, they object to everything.
func (w Project) HooksOf(a agent.Agent, instead string) loop.Hooks {
	if w.ws.runHooks == nil {
		return nil
	}
	found, err := w.Hooks()
	if err == nil && len(found.Hooks) == 0 {
		return nil
	}
	var runner hookprogram.Runner
	if err == nil {
		runner, err = w.ws.runHooks(w.ws)
	}
	if err != nil {
		return func(_ context.Context, o hook.Occasion) hook.Verdict {
			return hook.Judge(o, hook.Place{}, []hook.Ran{{Hook: hook.Hook{Event: o.Event, Command: "-", From: "?"}, Failed: err, Objects: true}})
		}
	}
	return func(ctx context.Context, o hook.Occasion) hook.Verdict {
		return runner.Fire(ctx, found.Hooks, o, w.placed(ctx, a, instead))
	}
}

// placed returns the folder and project in which something happens to an agent.
func (w Project) placed(ctx context.Context, a agent.Agent, instead string) hook.Place {
	p := hook.Place{Session: string(a.ID), Agent: string(a.ID), Name: a.Name, Dir: w.ws.Place.Project}
	for up := a.Parent; up != ""; {
		row, err := w.ws.Store.Agent(ctx, up)
		if err != nil {
			break
		}
		p.Session, up = string(row.ID), row.Parent
	}
	if dir, err := w.ws.Folder(a, instead); err == nil {
		p.Dir = dir
	}
	if standing, err := w.ws.Turns().Standing(ctx, a); err == nil {
		p.Mode = string(standing.Mode)
	}
	return p
}

// fires tells hooks what a person is about to do with an agent, and the agent's history of them.
// An objection is DENIED.
func (w Project) fires(ctx context.Context, a agent.Agent, o hook.Occasion) error {
	hooks := w.HooksOf(a, "")
	if hooks == nil {
		return nil
	}
	v := hooks(ctx, o)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.tells(ctx, a.ID, v.Entries); err != nil {
		return err
	}
	return kernel.Objection(o.Event, v)
}

// tells writes entries about hooks, in whichever kernel holds the agent.
func (w Project) tells(ctx context.Context, a id.Agent, entries []history.Draft) error {
	for _, e := range entries {
		if err := w.ws.Agents().order(ctx, a, e); err != nil {
			return err
		}
	}
	return nil
}

// ListHooks lists the hooks in their public shape.
func (w Project) ListHooks() (public.Hooks, error) {
	found, err := w.Hooks()
	if err != nil {
		return public.Hooks{}, err
	}
	out := public.Hooks{Hooks: []public.Hook{}, Notes: append(append([]string{}, found.Notes...), found.Remarks...)}
	for _, h := range found.Hooks {
		scope := "user"
		if h.Project {
			scope = "project"
		}
		out.Hooks = append(out.Hooks, public.Hook{Event: string(h.Event), Matcher: h.Matcher, Command: h.Command, Scope: scope, From: h.From,
			TimeoutMS: h.Patience().Milliseconds(), Required: h.Required, Confined: h.Project})
	}
	return out, nil
}
