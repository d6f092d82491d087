package history

import "fmt"

// HookCommand is the command of entries that tell of a hook which ran: Hook.
const HookCommand = "hook"

// Hook is one firing of a program that the user or the project named for an event (package hook).
type Hook struct {
	Event    string `json:"event"`
	About    string `json:"about,omitempty"` // the tool, or what else the event is about
	Program  string `json:"program"`         // its command line, on one line
	From     string `json:"from"`            // where it stands
	Outcome  string `json:"outcome"`         // passed, objected, failed, timed out
	Why      string `json:"why,omitempty"`
	Exit     int    `json:"exit"`
	TookMS   int64  `json:"took_ms"`
	Confined bool   `json:"confined,omitempty"`
}

// String returns one line for people.
func (h Hook) String() string {
	out := h.Event
	if h.About != "" {
		out += " " + h.About
	}
	out += fmt.Sprintf(": %s %s", h.Program, h.Outcome)
	if h.Why != "" {
		out += ": " + h.Why
	}
	return out
}
