package tool

import (
	"fmt"
	"strings"

	"ramet/internal/base/text"
)

// The states of a plan's step.
const (
	StepOpen    = "open"
	StepDoing   = "doing"
	StepDone    = "done"
	StepDropped = "dropped"
)

// MaxPlanSteps and maxStepBytes bound a plan to what a person can read.
const (
	MaxPlanSteps = 50
	maxStepBytes = 200
)

// PlanStep is one step of a plan.
type PlanStep struct {
	Step  string `json:"step"`
	State string `json:"state"`
}

// Plan holds the arguments of the plan tool, by which agents show people what they intend to do. Plans of
// other programs are written as calls of the same tool.
type Plan struct {
	Steps []PlanStep `json:"steps"`
}

// Add appends a step, shortened; it drops steps after the first MaxPlanSteps.
func (p *Plan) Add(step, state string) {
	if len(p.Steps) < MaxPlanSteps {
		p.Steps = append(p.Steps, PlanStep{text.Line(step, maxStepBytes), state})
	}
}

// Answer returns the result of the plan tool: the progress for the model, the steps for people.
func (p Plan) Answer() Answer {
	signs := map[string]string{StepOpen: "☐", StepDoing: "▶", StepDone: "☑", StepDropped: "☒"}
	lines := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		lines[i] = signs[s.State] + " " + text.Line(s.Step, maxStepBytes)
	}
	return Answer{Text: p.Progress() + ".", Show: strings.Join(lines, "\n")}
}

// Progress returns how many steps are done, and the current one.
func (p Plan) Progress() string {
	count := map[string]int{}
	now := ""
	for _, s := range p.Steps {
		if count[s.State]++; s.State == StepDoing && now == "" {
			now = "; now: " + text.Line(s.Step, 80)
		}
	}
	return fmt.Sprintf("%d of %d done%s", count[StepDone], len(p.Steps)-count[StepDropped], now)
}
