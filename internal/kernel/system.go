package kernel

import (
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// system returns the messages before the context of an agent with these tools, and a note for people.
func (k *Kernel) system(a agent.Agent, box tool.Box) (words []llm.Message, note string, err error) {
	if k.SystemFor != nil {
		return k.SystemFor(a, box)
	}
	words, err = k.System(a)
	return words, "", err
}

// note tells people something of an agent; empty: nothing.
func (k *Kernel) note(a id.Agent, what string) {
	if what != "" {
		k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: what})
	}
}
