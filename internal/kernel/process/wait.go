package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/mail"
	"ramet/internal/turn/tool"
)

const (
	usualWait = 600 * time.Second
	longest   = 3600 // seconds
)

// How many a wait waits for.
const (
	forAny = "any"
	forAll = "all"
)

// wakes marks a report that wakes the agent that asked for it.
const wakes = "wake"

var waitSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("wait", tool.Spec{
		Args: shape.Object(
			shape.May("for", shape.Enum(forAny, forAll)),
			shape.May("agents", shape.List(shape.Text(1))),
			shape.May("timeout", shape.Number(0, longest)),
			shape.May("then", shape.Enum(wakes)).Untold(),
		),
		Summary: summary(func(args waitArgs) string {
			if args.Then == wakes {
				return "let the children's reports wake it"
			}
			line := "wait for mail"
			if len(args.Agents) > 0 {
				line += " from " + strings.Join(args.Agents, ", ")
			}
			if args.For == forAll {
				line += " until all have ended"
			}
			return line + fmt.Sprintf(", at most %s", args.timeout())
		}),
	})
})

type waitArgs struct {
	For     string   `json:"for"`
	Agents  []string `json:"agents"`
	Timeout *float64 `json:"timeout"`
	Then    string   `json:"then"`
}

func (w waitArgs) timeout() time.Duration {
	if w.Timeout == nil {
		return usualWait
	}
	return time.Duration(*w.Timeout * float64(time.Second))
}

// wait sleeps until there is mail, and reads it.
func (a actor) wait(ctx context.Context, c tool.Call, args waitArgs) (tool.Answer, error) {
	if args.Then == wakes {
		return a.handOver(ctx)
	}
	order := Wait{All: args.For == forAll, Timeout: args.timeout()}
	for _, ref := range args.Agents {
		from, err := a.sender(ctx, ref)
		if err != nil {
			return tool.Answer{}, err
		}
		if *from == a.self {
			return tool.Failed("That is you. You cannot wait for yourself."), nil
		}
		if !slices.Contains(order.From, *from) {
			order.From = append(order.From, *from)
		}
	}
	done, err := a.kernel.Await(ctx, order)
	if err != nil {
		return tool.Answer{}, err
	}
	unread, err := a.people.Letters(ctx, a.self, mail.Filter{Unread: true})
	if err != nil {
		return tool.Answer{}, err
	}
	unread = slices.DeleteFunc(unread, func(l mail.Letter) bool { return !From(l, order.From) })
	head, err := a.head(ctx, order, done, len(unread))
	if err != nil {
		return tool.Answer{}, err
	}
	if len(unread) == 0 {
		return tool.Answer{Text: head}, nil
	}
	return a.read(ctx, c, head, unread)
}

// handOver ends the wait before it begins: the reports wake.
func (a actor) handOver(ctx context.Context) (tool.Answer, error) {
	open, err := a.kernel.HandOver(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	if len(open) == 0 {
		return tool.Failed("No agent works for you: no report could wake you."), nil
	}
	names, err := a.listed(ctx, open)
	if err != nil {
		return tool.Answer{}, err
	}
	return tool.Answer{Text: "The reports of " + names + " wake you. End your turn: say what is under way."}, nil
}

// head returns how the wait ended, before the messages.
func (a actor) head(ctx context.Context, order Wait, done Waited, letters int) (string, error) {
	if len(done.Working) == 0 {
		if letters > 0 && !order.All {
			return "", nil
		}
		return a.noneLeft(ctx, order, letters)
	}
	if letters > 0 && !order.All {
		return "", nil
	}
	names, err := a.listed(ctx, done.Working)
	if err != nil {
		return "", err
	}
	if order.All || len(order.From) > 0 {
		return fmt.Sprintf("After %s these still work: %s.", order.Timeout, names), nil
	}
	return fmt.Sprintf("No mail came within %s. At work: %s.", order.Timeout, names), nil
}

// noneLeft describes a wait without an agent left to wait for, and how those agents ended.
func (a actor) noneLeft(ctx context.Context, order Wait, letters int) (string, error) {
	if letters > 0 {
		return "None of them works any more.", nil
	}
	var ends []string
	for _, from := range order.From {
		row, err := a.people.Agent(ctx, from)
		if err != nil {
			return "", err
		}
		now, err := a.kernel.Sources().Look(ctx, false, from)
		if err != nil {
			return "", err
		}
		if len(ends) < maxListed {
			ends = append(ends, title(row)+" is "+now.Of(row).String())
		}
	}
	if len(ends) == 0 {
		return "No agent is working that could send you mail, and you have no unread mail.", nil
	}
	return "No agent is left that could send mail: " + strings.Join(ends, "; ") + ". You have no unread mail from them.", nil
}

// listed names agents.
func (a actor) listed(ctx context.Context, who []id.Agent) (string, error) {
	const most = 12
	var names []string
	for i, w := range who {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(who)-most))
			break
		}
		if w == "" {
			names = append(names, "the user")
			continue
		}
		row, err := a.people.Agent(ctx, w)
		if err != nil {
			return "", err
		}
		names = append(names, title(row))
	}
	return strings.Join(names, ", "), nil
}
