package public

import (
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
)

// Written is an entry that a verb added to a history.
type Written struct {
	ID        id.Message   `json:"id"`
	AgentUUID id.Agent     `json:"agent_uuid"`
	Kind      history.Kind `json:"kind"`
	CreatedAt string       `json:"created_at"`
	Hash      string       `json:"hash"`
}

// FormatWritten returns the shape of an entry that was added.
func FormatWritten(e history.Entry) Written {
	return Written{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, CreatedAt: Stamp(e.CreatedAt), Hash: e.Hash.String()}
}

// Text prints the entry's id.
func (d Written) Text(w *printer.Writer) { w.Line("%d", int64(d.ID)) }
