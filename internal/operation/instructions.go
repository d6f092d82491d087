package operation

import (
	"context"
	"strings"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// InstructionsInput names an agent.
type InstructionsInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent that gets them"`
}

// ShowInstructions prints the instructions of an agent.
var ShowInstructions = Op[InstructionsInput, public.Instructions]{
	Doc: Doc{Name: "instructions", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "Print the instructions of an agent, and where they are from",
		Help: `Print what stands before the conversation of an agent (agent 0 if none is named), in
the order in which its model reads it: your own AGENTS.md, beside your configuration;
then, from the project's folder down to the agent's, of each folder the first that was
accepted of AGENTS.override.md, AGENTS.md, CLAUDE.md, with what they import (@path).
Those of folders below join a conversation when a tool first reads or changes a file
there. All of it is at most 128 KiB.

What a project says counts only in the bytes that you accepted (ramet trust).`},
	Run: func(ctx context.Context, e *Env, in InstructionsInput) (out public.Instructions, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		return e.Project().ShowInstructions(a)
	},
	Text: writeInstructions,
}

func writeInstructions(w *printer.Writer, _ InstructionsInput, d public.Instructions) {
	for _, t := range d.Texts {
		from := t.From
		if t.ImportedBy != nil {
			from += ", imported by " + *t.ImportedBy
		}
		w.Line("== %s (%s, %s)", from, t.Scope, text.Count(t.Size, "byte"))
		for line := range strings.Lines(strings.TrimSpace(t.Text)) {
			w.Line("%s", strings.TrimRight(line, "\r\n"))
		}
		w.Line("")
	}
	if len(d.Texts) == 0 {
		w.Line("this agent has no instructions")
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}
