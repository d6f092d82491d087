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
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent to assign them to"`
}

// ShowInstructions prints the instructions of an agent.
var ShowInstructions = Op[InstructionsInput, public.Instructions]{
	Doc: Doc{Name: "instructions", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "Print an agent's instructions and their sources",
		Help: `Print the instructions of an agent (default: agent 0), in the order in which its model reads
them: first your own AGENTS.md, next to your configuration; then, for every folder from the
project's down to the agent's, the first accepted one of AGENTS.override.md, AGENTS.md and
CLAUDE.md, with the files that it imports (@path). Instructions of subfolders are added when a tool
first reads or changes a file there. The limit is 128 KiB in all.

Instructions of a project are used only in the version that you accepted (ramet trust).`},
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
