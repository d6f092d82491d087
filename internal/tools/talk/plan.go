package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"ramet/internal/base/late"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

// The states of a step.
const (
	open    = "open"
	doing   = "doing"
	done    = "done"
	dropped = "dropped"
)

// mostSteps and longestStep bound what a person can read.
const (
	mostSteps   = 50
	longestStep = 200
)

type step struct {
	Step  string `json:"step"`
	State string `json:"state"`
}

type planArgs struct {
	Steps []step `json:"steps"`
}

var planSpec = late.Value[tool.Spec]{Make: func() tool.Spec {
	return tool.Describe("plan", tool.Spec{
		Args: shape.Object(shape.Must("steps", shape.List(shape.Object(
			shape.Must("step", shape.Text(1)),
			shape.Must("state", shape.Enum(open, doing, done, dropped)),
		)))),
		Summary: func(raw json.RawMessage) string {
			args, err := decode[planArgs](raw)
			if err != nil {
				return text.Line(string(raw), 120)
			}
			return args.brief()
		},
	})
}}

// Step is one of a plan that another program tells.
type Step struct {
	Text        string
	Begun, Done bool
}

// Plan is a plan of another program as if it had been told with this tool: the arguments of the call,
// and the answer. What is more than people read is left out.
func Plan(steps []Step) (json.RawMessage, tool.Answer, error) {
	var args planArgs
	for _, s := range steps[:min(len(steps), mostSteps)] {
		state := open
		switch {
		case s.Done:
			state = done
		case s.Begun:
			state = doing
		}
		args.Steps = append(args.Steps, step{text.Line(s.Text, longestStep), state})
	}
	raw, err := json.Marshal(args)
	return raw, tool.Answer{Text: args.brief() + ".", Show: args.list()}, err
}

// plan is the tool that shows people what the agent means to do.
type plan struct{}

func (plan) Spec() tool.Spec { return planSpec.Get() }

// Run implements tool.Tool.
func (plan) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[planArgs](c.Args)
	switch {
	case err != nil:
		return tool.Failed("The arguments are not readable: " + err.Error()), nil
	case len(args.Steps) == 0:
		return tool.Failed("A plan has steps."), nil
	case len(args.Steps) > mostSteps:
		return tool.Failed(fmt.Sprintf("A plan has at most %d steps; this one has %d.", mostSteps, len(args.Steps))), nil
	}
	return tool.Answer{Text: args.brief() + ".", Show: args.list()}, nil
}

// brief is how far it is.
func (p planArgs) brief() string {
	count := map[string]int{}
	now := ""
	for _, s := range p.Steps {
		if count[s.State]++; s.State == doing && now == "" {
			now = "; now: " + text.Line(s.Step, 80)
		}
	}
	return fmt.Sprintf("%d of %d done%s", count[done], len(p.Steps)-count[dropped], now)
}

var signs = late.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{open: "☐", doing: "▶", done: "☑", dropped: "☒"}
}}

// list is the plan for people.
func (p planArgs) list() string {
	lines := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		lines[i] = signs.Get()[s.State] + " " + text.Line(s.Step, longestStep)
	}
	return strings.Join(lines, "\n")
}
