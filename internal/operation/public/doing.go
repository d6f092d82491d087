package public

import (
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// AgentNow is an agent and what it does at the moment.
type AgentNow struct {
	Agent
	Doing *string `json:"doing"` // in a word or two; null: nothing
}

// AgentList is agents, parents before children.
type AgentList struct {
	Agents []AgentNow `json:"agents"`
}

// FormatDoing returns the shape of an agent with what it does.
func FormatDoing(a agent.Agent, now state.Now) AgentNow {
	out := AgentNow{Agent: FormatNow(a, now)}
	if s := now.Of(a); s.Busy() {
		doing := s.Short(80)
		out.Doing = &doing
	}
	return out
}

// MaxState limits the length of a state in a row of a table.
const MaxState = 48
