package public

import (
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
)

// RunMade is a run that was begun, taken up again, forked or cancelled: where it is, and how
// far its log has come.
type RunMade struct {
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	State string `json:"run_state"`
}

// Text implements printer.Datum.
func (m RunMade) Text(w *printer.Writer) { w.Line("%s", m.RunID) }

// Search lists the messages of a workspace, or of one agent's history, that contain some words.
type Search struct {
	Found []Hit `json:"found"` // newest first
	More  bool  `json:"more"`  // there is more than was asked for, or than could be looked at in time
}

// Hit is one message.
type Hit struct {
	Agent  id.Agent   `json:"agent_uuid"` // who stored it
	ID     id.Message `json:"message_id"`
	Kind   string     `json:"kind"`
	At     string     `json:"created_at"`
	Around string     `json:"around"` // one line of the text near the words
}
