package kernel

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// hooksOf are the hooks for an agent; nil: there are none.
func (k *Kernel) hooksOf(a agent.Agent) loop.Hooks { return optional(k.Hooks, a) }

// optional returns the value of an option for an agent; the zero value if the option is not set.
func optional[A, R any](option func(A) R, of A) (value R) {
	if option != nil {
		value = option(of)
	}
	return value
}

// fire tells hooks of something that is about to happen to an agent which is held here, and its
// history of them. An objection is DENIED.
func (k *Kernel) fire(ctx context.Context, a id.Agent, claim agent.Claim, o hook.Occasion) error {
	if k.Hooks == nil {
		return nil
	}
	row, err := k.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	hooks := k.hooksOf(row)
	if hooks == nil {
		return nil
	}
	v := hooks(ctx, o)
	k.tellAll(a, v)
	if len(v.Entries) > 0 {
		writing, cancel := loop.ExtendContext(ctx)
		defer cancel()
		if _, err := k.Store.Append(writing, a, claim, v.Entries...); err != nil {
			return err
		}
	}
	return Objection(o.Event, v)
}

// Objection is the fault of what hooks do not let happen; nil: they do.
func Objection(e hook.Event, v hook.Verdict) error {
	if !v.Denied && !v.Halts {
		return nil
	}
	return fault.New(fault.Denied, "a hook of %s did not let this happen: %s", e, v.Why).WithHint("it is in %s", v.From)
}

func (k *Kernel) tellAll(a id.Agent, v hook.Verdict) {
	for _, what := range v.Tell {
		if k.Clean != nil {
			what = k.Clean(what)
		}
		k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: text.Line(what, 400)})
	}
}

// Happened tells hooks of something that has happened, beside everything else. What came of it
// stands in the history of the agent, as far as that can be written. The channel is closed when all
// that is done.
func (k *Kernel) Happened(a agent.Agent, o hook.Occasion) <-chan struct{} {
	over := make(chan struct{})
	hooks := k.hooksOf(a)
	if hooks == nil {
		close(over)
		return over
	}
	o.Shown = true
	k.jobs.add() // whoever waits for the agents waits for them
	k.work.Go(func() {
		defer close(over)
		defer k.jobs.done()
		ctx, cancel := loop.ExtendContext(k.ctx)
		defer cancel()
		v := hooks(ctx, o)
		k.tellAll(a.ID, v)
		if len(v.Entries) == 0 {
			return
		}
		writing, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer stop()
		err := k.entitled(writing, a.ID, func(c agent.Claim) error {
			_, err := k.Store.Append(writing, a.ID, c, v.Entries...)
			return err
		})
		if err != nil && !lost(err) && !fault.Is(err, fault.Leased) {
			k.trouble(ctx, "record a hook", err)
		}
		k.drafts.moved(a.ID)
	})
	return over
}

// opens tells hooks that a person begins to talk with an agent here. What they say is for the model.
func (p *agentProcess) opens(ctx context.Context, hooks loop.Hooks, j *job) []history.Draft {
	if hooks == nil || p.opened || j.task || j.woken || j.only != nil {
		return nil
	}
	p.opened = true
	source := "resume"
	switch {
	case j.prompt.Fresh:
		source = "clear"
	case p.talk.Len() == 0:
		source = "startup"
	}
	v := hooks(ctx, hook.Occasion{Event: hook.SessionStart, About: source, Fields: map[string]any{"source": source}})
	return p.adds(v)
}

// submits tells hooks what a person says. What they add is drafted; an objection is DENIED, with
// entries that tell of it.
func (p *agentProcess) submits(ctx context.Context, hooks loop.Hooks, j *job) ([]history.Draft, error) {
	if hooks == nil || j.by == nil || j.prompt.Text == "" {
		return nil, nil
	}
	v := hooks(ctx, hook.Occasion{Event: hook.UserPromptSubmit, Fields: map[string]any{"prompt": j.prompt.Text}})
	if ctx.Err() != nil {
		return nil, llm.Ended(ctx) // it was taken back
	}
	added := p.adds(v)
	if err := Objection(hook.UserPromptSubmit, v); err != nil {
		return v.Entries, err
	}
	return added, nil
}

// starts tells hooks that a child begins its task.
func (p *agentProcess) starts(ctx context.Context, hooks loop.Hooks, j *job) []history.Draft {
	if hooks == nil || !j.task {
		return nil
	}
	role := p.talk.Role()
	v := hooks(ctx, hook.Occasion{Event: hook.SubagentStart, About: role, Fields: map[string]any{"agent_type": role}})
	return p.adds(v)
}

// adds publishes what hooks say to people, and drafts what they say to the model, after their own entries.
func (p *agentProcess) adds(v hook.Verdict) []history.Draft {
	p.kernel.tellAll(p.id, v)
	out := v.Entries
	if v.Context != "" {
		said := v.Context
		if p.kernel.Clean != nil {
			said = p.kernel.Clean(said)
		}
		out = append(out, loop.Notice("[hook] "+said))
	}
	return out
}

// notifies tells hooks that a person is asked.
func (k *Kernel) notifies(ctx context.Context, q permit.Question) {
	if k.Hooks == nil {
		return
	}
	row, err := k.Store.Agent(ctx, q.Agent)
	if err != nil {
		return // who asks says so
	}
	kind, what := "permission_prompt", "Agent "+row.Label()+" needs your permission for "+q.Tool+": "+text.Line(q.Summary, 200)
	if q.Says != "" {
		kind, what = "elicitation_dialog", "Agent "+row.Label()+" asks: "+text.Line(q.Says, 200)
	}
	k.Happened(row, hook.Occasion{Event: hook.Notification, About: kind,
		Fields: map[string]any{"message": what, "notification_type": kind, "title": "ramet"}})
}

// forking returns the hook event of a fork.
func forking(f registry.Fork) hook.Occasion {
	children := make([]map[string]any, len(f.Children))
	for i, c := range f.Children {
		prompt := ""
		if at := slices.IndexFunc(c.Entries, func(d history.Draft) bool { return d.Kind == history.User && len(d.Parts) > 0 }); at >= 0 {
			parts := c.Entries[at].Parts
			prompt = parts[len(parts)-1].Text
		}
		children[i] = map[string]any{"agent_id": string(c.ID), "name": c.Name, "prompt": prompt}
	}
	return hook.Occasion{Event: hook.Fork, Fields: map[string]any{"parent_id": string(f.Parent), "children": children}}
}

// Forking returns the hook event of a fork by a person.
func Forking(parent string, c registry.Child) hook.Occasion {
	o := forking(registry.Fork{Children: []registry.Child{c}})
	o.Fields["parent_id"] = parent
	return o
}

// Mailing returns the hook event of a message.
func Mailing(s registry.Send) hook.Occasion {
	return hook.Occasion{Event: hook.Mail, Fields: map[string]any{"from": string(s.From), "to": string(s.To), "body": s.Body}}
}

// Killing returns the hook event of a kill.
func Killing(k registry.Kill) hook.Occasion {
	return hook.Occasion{Event: hook.Kill, Fields: map[string]any{"victim_id": string(k.Agent), "by": string(k.By), "cascade": k.Cascade, "reason": k.Reason}}
}
