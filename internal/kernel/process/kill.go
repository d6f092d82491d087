package process

import (
	"context"
	"fmt"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/turn/tool"
)

var killSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("kill", tool.Spec{
		Args: shape.Object(
			shape.Must("agent", shape.Text(1)),
			shape.May("cascade", shape.Bool()),
			shape.May("reason", shape.Text(0)).Untold(),
		),
		Summary: summary(func(args killArgs) string {
			line := "kill " + args.Agent
			if args.Cascade {
				line += " and everything below it"
			}
			if args.Reason != "" {
				line += ": " + args.Reason
			}
			return line
		}),
	})
})

type killArgs struct {
	Agent   string `json:"agent"`
	Cascade bool   `json:"cascade"`
	Reason  string `json:"reason"`
}

// kill ends descendants.
func (a actor) kill(ctx context.Context, _ tool.Call, args killArgs) (tool.Answer, error) {
	me, err := a.me(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	victim, err := a.find(ctx, args.Agent)
	if err != nil {
		return tool.Answer{}, err
	}
	why, err := a.forbidden(ctx, me, victim)
	if err != nil {
		return tool.Answer{}, err
	}
	if why != "" {
		return tool.Failed(why + " Nothing was killed."), nil
	}
	if args.Reason == "" {
		args.Reason = "killed by " + me.Label()
	}
	done, err := a.kernel.Kill(ctx, registry.Kill{Agent: victim.ID, Cascade: args.Cascade, By: a.self, Reason: args.Reason})
	if err != nil {
		return tool.Answer{}, err
	}
	return tool.Answer{Text: killed(done, args.Cascade)}, nil
}

// forbidden returns the reason why this agent may not kill another, or "".
func (a actor) forbidden(ctx context.Context, me, victim agent.Agent) (string, error) {
	if victim.ID == me.ID {
		if me.IsZero() {
			return "You are agent 0, which cannot be killed.", nil
		}
		return "That is you: use exit to end yourself.", nil
	}
	if victim.IsZero() {
		return "Agent 0 cannot be killed.", nil
	}
	below, err := a.descends(ctx, victim, me)
	if err != nil || below {
		return "", err
	}
	above, err := a.descends(ctx, me, victim)
	if above {
		return fmt.Sprintf("%s is your ancestor: an agent kills only its descendants.", title(victim)), err
	}
	return fmt.Sprintf("%s is not your descendant: an agent kills only its descendants.", title(victim)), err
}

// killed describes the result of a kill.
func killed(done registry.Killed, cascade bool) string {
	below := len(done.Victims)
	var line string
	if done.Before {
		line = fmt.Sprintf("%s is dead since %s (%s).", title(done.Agent), stamp(done.Agent.EndedAt), done.Agent.EndReason)
	} else {
		line = fmt.Sprintf("Killed %s.", title(done.Agent))
		below--
	}
	switch {
	case cascade:
		line += fmt.Sprintf(" Killed in its subtree: %d.", below)
	case !done.Before:
		line += " Its children, if any, live on."
	}
	return line + fmt.Sprintf(" In all %s ended.", text.Count(len(done.Victims), "agent"))
}

var exitSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("exit", tool.Spec{
		Untold: true,
		Args: shape.Object(
			shape.May("result", shape.Text(0)),
		),
		Summary: summary(func(args exitArgs) string {
			if args.Result != "" {
				return "exit: " + args.Result
			}
			return "exit"
		}),
	})
})

type exitArgs struct {
	Result string `json:"result"`
}

// exit ends the agent itself. After Kernel.Exit the history is closed: the call has
// no result there, and the answer claims to be recorded so that none is appended.
func (a actor) exit(ctx context.Context, _ tool.Call, args exitArgs) (tool.Answer, error) {
	me, err := a.me(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	if me.IsZero() {
		return tool.Answer{}, fault.New(fault.AgentZero, "you are agent 0, which cannot end").WithHint("just stop: say your last words")
	}
	// Mail that could not be sent is refused while the agent can still shorten it.
	if args.Result != "" {
		if err := mail.CheckBody(args.Result); err != nil {
			return tool.Answer{}, err
		}
	}
	if err := a.kernel.Exit(ctx, a.self, args.Result); err != nil {
		return tool.Answer{}, err
	}
	return tool.Answer{Text: "You have ended.", Show: "ended", Recorded: true, Ends: true}, nil
}
