package loop

import (
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/llm"
)

// EventType names a kind of event.
type EventType string

// The events of a turn. The first group is of this package, the second of the
// kernel around it.
const (
	TextDelta     EventType = "text_delta"     // Text
	ThinkingDelta EventType = "thinking_delta" // Text
	Recorded      EventType = "entry"          // Entry: it is durable
	CallStarted   EventType = "call_started"   // CallID, Tool, Text: a line about it
	CallOutput    EventType = "call_output"    // CallID, Tool, Text: a piece of what it prints
	CallEnded     EventType = "call_ended"     // CallID, Tool, Text: for people, IsError
	Retrying      EventType = "retrying"       // Attempt
	Spent         EventType = "spent"          // Usage, Cost
	Compacting    EventType = "compacting"     // Text: why
	Note          EventType = "note"           // Text: something that people should know

	TurnStarted EventType = "turn_started" // Turn, Text: the model
	TurnEnded   EventType = "turn_ended"   // Turn, Outcome, Err
	Asking      EventType = "asking"       // Ask, CallID, Tool, Text: waits for permission
	Answered    EventType = "answered"     // Ask, Tool, Text: the answer
	Waiting     EventType = "waiting"      // Text: what a fork or a wait waits for
	Forked      EventType = "forked"       // Children
	Killed      EventType = "killed"       // Text: the reason
	Mailed      EventType = "mailed"       // Text: from whom, to the agent
	Became      EventType = "state"        // State: what the agent does from now on; none: look yourself
)

// Event is one thing that happened to an agent. Only the fields that its type
// names are set, besides Agent.
type Event struct {
	Type     EventType
	Agent    id.Agent
	Text     string
	CallID   string
	Tool     string
	IsError  bool
	Entry    *history.Entry
	Attempt  llm.Attempt
	Usage    llm.Usage
	Cost     llm.Money
	Children []id.Agent
	Turn     int64  // of the kernel: counts its turns
	Ask      string // of the kernel: names a question that anybody may answer
	Outcome  *Outcome
	State    *states.State
	Err      error
}
