package session

import (
	"ramet/internal/agent"
	"ramet/internal/control"
	"ramet/internal/id"
)

// Doing says what an agent does at the moment, in a word or two; empty: nothing. busy is
// what Busy told.
func (w *Workspace) Doing(a agent.Agent, busy map[id.Agent]string) string {
	if w.Kernel != nil {
		if doing := w.Kernel.Doing(a.ID); doing != "" {
			return doing
		}
	}
	if busy[a.ID] == control.Working && a.Lease.Owner != w.owner() {
		return "works elsewhere"
	}
	return ""
}
