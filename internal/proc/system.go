package proc

import (
	_ "embed"

	"ramet/internal/agent"
	"ramet/internal/llm"
	"ramet/internal/tool"
)

//go:embed system.md
var system string

// System is what every agent is told first, and what its project adds. It is the
// same for all agents of a workspace, so that vendors can cache it.
func System(overlays ...string) []llm.Message {
	out := []llm.Message{llm.Say(llm.System, system)}
	for _, text := range overlays {
		if text != "" {
			out = append(out, llm.Say(llm.System, text))
		}
	}
	return out
}

// system is what stands before the context of an agent with these tools.
func (k *Kernel) system(a agent.Agent, box tool.Box) ([]llm.Message, error) {
	if k.SystemFor != nil {
		return k.SystemFor(a, box)
	}
	return k.System(a)
}
