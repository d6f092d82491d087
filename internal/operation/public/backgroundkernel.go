package public

import "time"

// BackgroundKernel describes the background kernel.
type BackgroundKernel struct {
	Running    bool            `json:"running"`
	Version    string          `json:"version,omitempty"`
	PID        int             `json:"pid,omitempty"`
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	Log        string          `json:"log"`
	Socket     string          `json:"socket"`
	URL        string          `json:"url,omitempty"`        // of the page; absent: nothing asked for it yet
	IdleUntil  *time.Time      `json:"idle_until,omitempty"` // when it ends if nothing happens; absent: something keeps it
	Workspaces []HeldWorkspace `json:"workspaces"`
}

// HeldWorkspace is a workspace that the background kernel holds.
type HeldWorkspace struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	Folder    string `json:"folder"`
	Working   int    `json:"working"`          // agents in a turn
	Commands  int    `json:"commands"`         // agents that left commands running
	Questions int    `json:"questions"`        // that wait for an answer
	Clients   int    `json:"clients"`          // that watch what happens
	Served    int    `json:"served"`           // requests of "ramet serve"
	Failed    string `json:"failed,omitempty"` // why it was closed for good
}

// Keeps returns why the workspace keeps the kernel from ending; empty: it does not.
func (w HeldWorkspace) Keeps() string {
	switch {
	case w.Working > 0:
		return "agents work"
	case w.Questions > 0:
		return "questions are open"
	case w.Commands > 0:
		return "commands run"
	case w.Clients > 0:
		return "clients are connected"
	case w.Served > 0:
		return "the page is served"
	}
	return ""
}
