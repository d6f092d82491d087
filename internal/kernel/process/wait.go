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

// wait is the tool that sleeps until there is mail, and reads it.
type wait struct{ actor }

func (wait) Spec() tool.Spec { return waitSpec() }

// Run implements tool.Tool.
func (w wait) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[waitArgs](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	if args.Then == wakes {
		return w.handOver(ctx)
	}
	order := Wait{All: args.For == forAll, Timeout: args.timeout()}
	for _, ref := range args.Agents {
		from, err := w.sender(ctx, ref)
		if err != nil {
			return refuse(ctx, err)
		}
		if *from == w.self {
			return tool.Failed("That is you. You cannot wait for yourself."), nil
		}
		if !slices.Contains(order.From, *from) {
			order.From = append(order.From, *from)
		}
	}
	done, err := w.kernel.Await(ctx, order)
	if err != nil {
		return refuse(ctx, err)
	}
	unread, err := w.people.Letters(ctx, w.self, mail.Filter{Unread: true})
	if err != nil {
		return refuse(ctx, err)
	}
	unread = slices.DeleteFunc(unread, func(l mail.Letter) bool { return !From(l, order.From) })
	head, err := w.head(ctx, order, done, len(unread))
	if err != nil {
		return refuse(ctx, err)
	}
	if len(unread) == 0 {
		return tool.Answer{Text: head}, nil
	}
	return w.read(ctx, c, head, unread)
}

// handOver ends the wait before it begins: the reports wake.
func (w wait) handOver(ctx context.Context) (tool.Answer, error) {
	open, err := w.kernel.HandOver(ctx)
	if err != nil {
		return refuse(ctx, err)
	}
	if len(open) == 0 {
		return tool.Failed("No agent works for you: no report could wake you."), nil
	}
	names, err := w.listed(ctx, open)
	if err != nil {
		return refuse(ctx, err)
	}
	return tool.Answer{Text: "The reports of " + names + " wake you. End your turn: say what is under way."}, nil
}

// head returns how the wait ended, before the messages.
func (w wait) head(ctx context.Context, order Wait, done Waited, letters int) (string, error) {
	if len(done.Working) == 0 {
		if letters > 0 && !order.All {
			return "", nil
		}
		return w.noneLeft(ctx, order, letters)
	}
	if letters > 0 && !order.All {
		return "", nil
	}
	names, err := w.listed(ctx, done.Working)
	if err != nil {
		return "", err
	}
	if order.All || len(order.From) > 0 {
		return fmt.Sprintf("After %s these still work: %s.", order.Timeout, names), nil
	}
	return fmt.Sprintf("No mail came within %s. At work: %s.", order.Timeout, names), nil
}

// noneLeft describes a wait without an agent left to wait for, and how those agents ended.
func (w wait) noneLeft(ctx context.Context, order Wait, letters int) (string, error) {
	if letters > 0 {
		return "None of them works any more.", nil
	}
	var ends []string
	for _, a := range order.From {
		row, err := w.people.Agent(ctx, a)
		if err != nil {
			return "", err
		}
		now, err := w.kernel.Sources().Look(ctx, false, a)
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
