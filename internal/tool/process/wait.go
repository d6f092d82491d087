package process

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/mail"
	"ramet/internal/shape"
	"ramet/internal/tool"
)

const (
	usualWait = 600 * time.Second
	longest   = 3600 // seconds
)

//go:embed wait.md
var waitText string

var waitSpec = tool.Spec{
	Name: "wait", Description: waitText, Access: tool.Processes,
	Args: shape.Object(
		shape.May("timeout", shape.Number(0, longest).With("How many seconds to wait at most. Default: 600.")),
		shape.May("from", shape.Text(0).With("Only for a letter of this sender: an agent as in send, or you for the user.")),
	),
	Summary: summary(func(args waitArgs) string {
		line := "wait for mail"
		if args.From != "" {
			line += " from " + args.From
		}
		return line + fmt.Sprintf(", at most %s", args.timeout())
	}),
}

type waitArgs struct {
	Timeout *float64 `json:"timeout"`
	From    string   `json:"from"`
}

func (w waitArgs) timeout() time.Duration {
	if w.Timeout == nil {
		return usualWait
	}
	return time.Duration(*w.Timeout * float64(time.Second))
}

// wait is the tool that sleeps until there is mail.
type wait struct{ actor }

func (wait) Spec() tool.Spec { return waitSpec }

// Run implements tool.Tool.
func (w wait) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[waitArgs](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	from, err := w.sender(ctx, args.From)
	if err != nil {
		return refuse(ctx, err)
	}
	if from != nil && *from == w.self {
		return tool.Failed("That is you: while you wait, you write no letter to yourself."), nil
	}
	if why, err := w.inVain(ctx, from); err != nil || why != "" {
		if err != nil {
			return refuse(ctx, err)
		}
		return tool.Failed(why), nil
	}
	came, err := w.kernel.Await(ctx, w.self, from, args.timeout())
	if fault.Is(err, fault.DeadAgent) && ctx.Err() == nil {
		// The sender died meanwhile.
		if why, err := w.inVain(ctx, from); err == nil && why != "" {
			return tool.Failed(why), nil
		}
	}
	if err != nil {
		return refuse(ctx, err)
	}
	if !came {
		whose := ""
		if args.From != "" {
			whose = " from " + args.From
		}
		return tool.Answer{Text: fmt.Sprintf("No mail%s came within %s.", whose, args.timeout())}, nil
	}
	return w.arrived(ctx, from)
}

// inVain says why nobody should wait for a sender: the dead write no more.
func (w wait) inVain(ctx context.Context, from *id.Agent) (string, error) {
	if from == nil || *from == "" {
		return "", nil
	}
	// The row first: what it wrote before its death is there by then.
	row, err := w.people.Agent(ctx, *from)
	if err != nil || row.Status == agent.Running {
		return "", err
	}
	unread, err := w.people.Letters(ctx, w.self, mail.Filter{Unread: true, From: from})
	if err != nil || len(unread) > 0 {
		return "", err
	}
	return fmt.Sprintf("%s is dead since %s (%s) and will not write; no unread letter from it waits.",
		title(row), stamp(row.EndedAt), row.EndReason), nil
}

// arrived tells who wrote, and reads nothing.
func (w wait) arrived(ctx context.Context, from *id.Agent) (tool.Answer, error) {
	unread, err := w.people.Letters(ctx, w.self, mail.Filter{Unread: true, From: from})
	if err != nil {
		return refuse(ctx, err)
	}
	names, err := w.titles(ctx, senders(unread)...)
	if err != nil {
		return refuse(ctx, err)
	}
	if len(unread) == 0 {
		return tool.Answer{Text: "Mail came, and was read already."}, nil
	}
	var who []string
	letters := map[id.Agent]int{}
	for _, l := range unread {
		if letters[l.From]++; letters[l.From] == 1 && len(letters) <= maxListed {
			who = append(who, names[l.From])
		}
	}
	if more := len(letters) - maxListed; more > 0 {
		who = append(who, fmt.Sprintf("and %d more", more))
	}
	return tool.Answer{Text: fmt.Sprintf("%s unread, from %s. Use read_mail to read; the oldest is number %d.",
		count(len(unread), "letter"), strings.Join(who, ", "), unread[0].Number)}, nil
}
