package driver

import (
	"encoding/json"
	"fmt"
	"slices"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// planTool is the tool with which our own agents show what they mean to do. A program's plan stands
// in the history as a call of it, so every face shows it as ours.
const planTool = "plan"

// planned is a plan that is about to be written.
type planned struct{ call, result history.Part }

// newPlan is the program's plan, if it is another than the one that was written last; nil: there is none.
func (r *turn) newPlan() *planned {
	if len(r.plan) == 0 || slices.Equal(r.plan, r.planned) {
		return nil
	}
	var plan tool.Plan
	for _, s := range r.plan {
		state := tool.StepOpen
		switch s.Status {
		case "completed":
			state = tool.StepDone
		case "in_progress":
			state = tool.StepDoing
		}
		plan.Add(s.Text, state)
	}
	args, err := json.Marshal(plan)
	if err != nil {
		return nil // texts always are JSON
	}
	answer := plan.Answer()
	r.planned = slices.Clone(r.plan)
	r.plans++
	id := fmt.Sprintf("plan-%d-%d", r.mark, r.plans)
	return &planned{history.Part{Type: history.ToolCall, CallID: id, Name: planTool, Args: text.Strings(args, r.kept)},
		history.Part{Type: history.Result, CallID: id, Name: planTool, Text: r.kept(answer.Text), Show: r.kept(answer.Show)}}
}

// emit tells of it.
func (p *planned) emit(r *turn) {
	r.Emit(loop.Event{Type: loop.CallStarted, Agent: r.Agent, CallID: p.call.CallID, Tool: planTool, Text: text.Line(p.result.Text, mostLine)})
	r.Emit(loop.Event{Type: loop.CallEnded, Agent: r.Agent, CallID: p.call.CallID, Tool: planTool, Text: p.result.Show})
}
