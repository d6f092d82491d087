package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

var planSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("plan", tool.Spec{
		Args: shape.Object(shape.Must("steps", shape.List(shape.Object(
			shape.Must("step", shape.Text(1)),
			shape.Must("state", shape.Enum(tool.StepOpen, tool.StepDoing, tool.StepDone, tool.StepDropped)),
		)))),
		Summary: func(raw json.RawMessage) string {
			args, err := decodeArguments[tool.Plan](raw)
			if err != nil {
				return text.Line(string(raw), 120)
			}
			return args.Progress()
		},
	})
})

// plan is the tool that shows people what the agent intends to do.
type plan struct{}

func (plan) Spec() tool.Spec { return planSpec() }

// Run implements tool.Tool.
func (plan) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decodeArguments[tool.Plan](c.Args)
	switch {
	case err != nil:
		return tool.Failed("The arguments are not readable: " + err.Error()), nil
	case len(args.Steps) == 0:
		return tool.Failed("A plan has steps."), nil
	case len(args.Steps) > tool.MaxPlanSteps:
		return tool.Failed(fmt.Sprintf("A plan has at most %d steps; this one has %d.", tool.MaxPlanSteps, len(args.Steps))), nil
	}
	return args.Answer(), nil
}
