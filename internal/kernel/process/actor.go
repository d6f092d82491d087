package process

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/turn/tool"
)

// actor is the agent that acts, with what it acts through.
type actor struct {
	kernel Kernel
	people People
	self   id.Agent
}

// Words that stand for somebody in arguments; no child may be called so.
const (
	theUser   = "user"   // the user, as a sender of mail
	theParent = "parent" // the nearest living ancestor
)

// me reads the agent's own row.
func (a actor) me(ctx context.Context) (agent.Agent, error) { return a.people.Agent(ctx, a.self) }

// find reads the agent that the model means.
func (a actor) find(ctx context.Context, ref string) (agent.Agent, error) {
	if ref == theParent {
		return a.parent(ctx)
	}
	return agent.Find(ctx, a.people, ref)
}

// parent is the nearest living ancestor, to whom mail goes up.
func (a actor) parent(ctx context.Context) (agent.Agent, error) {
	up, err := a.me(ctx)
	if err == nil && up.IsZero() {
		return up, fault.New(fault.NotFound, "you are agent 0 and have no parent").
			WithHint("what you say reaches the user")
	}
	for err == nil {
		if up, err = a.people.Agent(ctx, up.Parent); err == nil && (up.Status == agent.Running || up.IsZero()) {
			return up, nil
		}
	}
	return up, err
}

// descends reports whether one agent is below another, even if agents between them died.
func (a actor) descends(ctx context.Context, who, from agent.Agent) (bool, error) {
	for who.Depth > from.Depth {
		var err error
		if who, err = a.people.Agent(ctx, who.Parent); err != nil {
			return false, err
		}
		if who.ID == from.ID {
			return true, nil
		}
	}
	return false, nil
}

// descendant reads the agent's own row and that of an agent that must descend from it; hint is the remedy if it does not.
func (a actor) descendant(ctx context.Context, ref, hint string) (me, child agent.Agent, err error) {
	if me, err = a.me(ctx); err != nil {
		return me, child, err
	}
	if child, err = a.find(ctx, ref); err != nil {
		return me, child, err
	}
	below, err := a.descends(ctx, child, me)
	if err == nil && !below {
		err = fault.New(fault.Usage, "%s does not descend from you", title(child)).WithHint("%s", hint)
	}
	return me, child, err
}

// titles names the senders of letters: the name with the short id, so that nobody
// can pass for another, and the user as no agent is named.
func (a actor) titles(ctx context.Context, letters []mail.Letter) (map[id.Agent]string, error) {
	known := map[id.Agent]string{"": "the user", id.Kernel: "ramet"}
	for _, l := range letters {
		if _, ok := known[l.From]; ok {
			continue
		}
		row, err := a.people.Agent(ctx, l.From)
		if err != nil {
			return nil, err
		}
		known[l.From] = title(row)
	}
	return known, nil
}

// title is an agent in a sentence: its name and its short id.
func title(a agent.Agent) string {
	if a.Label() == a.ID.Short() {
		return a.Label()
	}
	return fmt.Sprintf("%s (%s)", a.Label(), a.ID.Short())
}

// stamp is a time as the model reads it. An age would differ from replay to replay.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// decode reads arguments that have the shape of T.
func decode[T any](raw json.RawMessage) (T, error) {
	var args T
	if err := json.Unmarshal(raw, &args); err != nil {
		return args, fault.New(fault.Usage, "the arguments are not readable: %w", err)
	}
	return args, nil
}

// summary is one line about a call, for people, from arguments of any form.
func summary[T any](line func(T) string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		args, err := decode[T](raw)
		if err != nil {
			return text.Line(string(raw), maxSummary)
		}
		return text.Line(line(args), maxSummary)
	}
}

const maxSummary = 120

// concerns are the faults that a model can do something about.
var concerns = map[fault.Code]bool{
	fault.NotFound: true, fault.DeadAgent: true, fault.Conflict: true, fault.Ambiguous: true, fault.AgentZero: true,
	fault.BudgetExceeded: true, fault.Leased: true, fault.IllegalTransition: true, fault.TimedOut: true,
	fault.Usage: true, fault.InvalidID: true, fault.InvalidName: true, fault.InvalidLabel: true, fault.InvalidText: true,
	fault.InvalidKind: true, fault.InvalidConfig: true, fault.Denied: true, fault.Untrusted: true, fault.Failed: true,
}

// here turns hints about commands into hints about tools.
var here = strings.NewReplacer("`ramet ps --all`", "the tool ps", "`ramet mail`", "the tool check_mail")

// verb is a tool whose arguments are an A.
type verb[A any] struct {
	actor
	spec func() tool.Spec
	run  func(a actor, ctx context.Context, c tool.Call, args A) (tool.Answer, error)
}

func (v verb[A]) Spec() tool.Spec { return v.spec() }

// Run implements tool.Tool.
func (v verb[A]) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[A](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	out, err := v.run(v.actor, ctx, c, args)
	if err != nil {
		return refuse(ctx, err)
	}
	return out, nil
}

// toolResult drafts the result of a call.
func toolResult(c tool.Call, text, show string) history.Draft {
	return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: c.ID, Name: c.Name, Text: text, Show: show}}}
}

// refuse is the answer to a request that was refused; other errors are passed on,
// and all of them once the context has ended: then nobody reads an answer.
func refuse(ctx context.Context, err error) (tool.Answer, error) {
	if f, ok := fault.Of(err); ok && concerns[f.Code] && ctx.Err() == nil {
		return tool.Failed(here.Replace(f.Error())), nil
	}
	return tool.Answer{}, err
}
