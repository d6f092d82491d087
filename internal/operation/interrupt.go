package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/kernel"
)

// Interrupt stops the turn of an agent.
var Interrupt = Op[AgentInput, Interrupted]{
	Doc: Doc{Name: "interrupt", Group: "agents", ID: "interruptAgent", Route: "POST /api/v1/agents/{ref=agent}/interrupt 200", Faces: CLI | HTTP, Persons: true,
		Summary: "Stop the turn of an agent, if there is one",
		Help: `Stop the turn of an agent, wherever it runs, and return when it is over. Its history says so,
and "ramet exec --continue" continues it. Agents below it are not stopped.`},
	Run: func(ctx context.Context, e *Env, in AgentInput) (out Interrupted, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		stopped, err := e.Turns().Stop(ctx, kernel.Stop{Agent: a.ID})
		return Interrupted{a.ID, stopped}, err
	},
	Text: func(w *printer.Writer, _ AgentInput, out Interrupted) {
		if !out.Interrupted {
			w.Line("there was no turn to stop")
		}
	},
}

// Interrupted reports whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
}
