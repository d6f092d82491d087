package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/kernel"
)

// Interrupt stops the turn of an agent.
var Interrupt = Op[InterruptInput, Interrupted]{
	Doc: Doc{Name: "interrupt", Group: "agents", ID: "interruptAgent", Route: "POST /api/v1/agents/{ref=agent}/interrupt 200", Faces: CLI | HTTP, Persons: true,
		Summary: "Stop the turn of an agent, if there is one",
		Help: `Stop the turn of an agent, wherever it runs, and wait until it has stopped. The interruption is
recorded in the history, and "ramet exec --continue" continues the turn. The agent's children are
not stopped.`},
	Run: func(ctx context.Context, e *Env, in InterruptInput) (out Interrupted, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		if e.Kernel != nil {
			out.TakenBack = e.Kernel.Withdraw(in.Tickets...)
		}
		out.Agent = a.ID
		out.Interrupted, err = e.Turns().Stop(ctx, kernel.Stop{Agent: a.ID})
		return out, err
	},
	Text: func(w *printer.Writer, _ InterruptInput, out Interrupted) {
		if !out.Interrupted {
			w.Line("there was no turn to stop")
		}
	},
}

// InterruptInput names the agent whose turn is stopped.
type InterruptInput struct {
	Agent   AgentRef `json:"agent" arg:"AGENT" help:"0, a name, a uuid or the beginning of one"`
	Tickets []string `json:"tickets,omitempty" faces:"http" help:"names of prompts to withdraw if they are still queued"`
}

// Interrupted reports whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
	TakenBack   []string `json:"taken_back,omitempty"` // tickets of prompts that waited
}
