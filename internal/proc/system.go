package proc

import (
	_ "embed"

	"ramet/internal/llm"
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
