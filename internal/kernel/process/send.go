package process

import (
	"context"
	"fmt"
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/turn/tool"
)

var sendSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("send", tool.Spec{
		Args: shape.Object(
			shape.Must("to", shape.Text(1).With("name, id, or parent")),
			shape.Must("text", shape.Text(1)),
			shape.May("in_reply_to", shape.Integer(0)).Untold(),
		),
		Summary: summary(func(args sendArgs) string { return "send to " + args.To + ": " + args.Text }),
	})
})

// Numbers are read as doubles, because 1.0 and 1e2 are whole numbers of JSON too;
// the shape keeps them within what a double holds exactly.
type sendArgs struct {
	To        string  `json:"to"`
	Text      string  `json:"text"`
	InReplyTo float64 `json:"in_reply_to"`
}

// send is the tool that writes letters.
type send struct{ actor }

func (send) Spec() tool.Spec { return sendSpec() }

// Run implements tool.Tool.
func (s send) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[sendArgs](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	if args.To == theUser || args.To == "you" {
		return tool.Failed("The user has no mailbox: what you say in your answer reaches them. Nothing was sent."), nil
	}
	to, err := s.find(ctx, args.To)
	if err != nil {
		return refuse(ctx, err)
	}
	l, err := s.kernel.Send(ctx, registry.Send{From: s.self, To: to.ID, Body: args.Text, InReplyTo: int64(args.InReplyTo)})
	if err != nil {
		return refuse(ctx, err)
	}
	return tool.Answer{Text: fmt.Sprintf("Sent to %s: mail %d in its mailbox.%s", title(to), l.Number, fate(l))}, nil
}

// fate describes how a message will be delivered.
func fate(l mail.Letter) string {
	switch l.Fate {
	case mail.Wakes:
		return " It was idle: the mail wakes it, and you get its next final message by mail."
	case mail.Meets:
		return " It is working, and is notified before its turn ends."
	case mail.Waits:
		return " It is idle, and this mail starts no turn: " + l.Why + ". It waits until the agent works again."
	}
	return ""
}
