package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/kernel"
)

// Interrupt stops the turn of an agent.
var Interrupt = Op[AgentInput, Interrupted]{
	Doc: Doc{Name: "interrupt", Group: "agents", ID: "interruptAgent", Route: "POST /api/v1/agents/{ref=agent}/interrupt 200", Faces: HTTP, Persons: true,
		Summary: "Stop the turn of an agent, if there is one"},
	Run: func(ctx context.Context, e *Env, in AgentInput) (out Interrupted, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		stopped, err := e.Turns().Stop(ctx, kernel.Stop{Agent: a.ID})
		return Interrupted{a.ID, stopped}, err
	},
}

// Interrupted reports whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
}
