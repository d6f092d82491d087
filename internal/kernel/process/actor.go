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

// titles names the senders of letters: the name with the short id, so that nobody
// can pass for another, and the user as no agent is named.
func (a actor) titles(ctx context.Context, who ...id.Agent) (map[id.Agent]string, error) {
	known := map[id.Agent]string{"": "the user", id.Kernel: "ramet"}
	for _, w := range who {
		if _, ok := known[w]; ok {
			continue
		}
		row, err := a.people.Agent(ctx, w)
		if err != nil {
			return nil, err
		}
		known[w] = title(row)
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

// refuse is the answer to a request that was refused; other errors are passed on,
// and all of them once the context has ended: then nobody reads an answer.
func refuse(ctx context.Context, err error) (tool.Answer, error) {
	if f, ok := fault.Of(err); ok && concerns[f.Code] && ctx.Err() == nil {
		return tool.Failed(here.Replace(f.Error())), nil
	}
	return tool.Answer{}, err
}
