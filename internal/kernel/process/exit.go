package process

import (
	"context"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/core/mail"
	"ramet/internal/turn/tool"
)

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

// exit is the tool with which an agent ends itself.
type exit struct{ actor }

func (exit) Spec() tool.Spec { return exitSpec() }

// Run implements tool.Tool. After Kernel.Exit the history is closed: the call has
// no result there, and the answer claims to be recorded so that nobody appends one.
func (e exit) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[exitArgs](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	me, err := e.me(ctx)
	if err != nil {
		return refuse(ctx, err)
	}
	if me.IsZero() {
		return refuse(ctx, fault.New(fault.AgentZero, "you are agent 0, which cannot end").WithHint("just stop: say your last words"))
	}
	// A letter that could not be sent is refused while there is still somebody to
	// shorten it.
	if args.Result != "" {
		if err := mail.CheckBody(args.Result); err != nil {
			return refuse(ctx, err)
		}
	}
	if err := e.kernel.Exit(ctx, e.self, args.Result); err != nil {
		return refuse(ctx, err)
	}
	return tool.Answer{Text: "You have ended.", Show: "ended", Recorded: true, Ends: true}, nil
}
