package cli

import (
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// writtenHistory prints the entry that a verb wrote.
func writtenHistory(l *Line) func(history.Entry, error) error {
	return func(e history.Entry, err error) error {
		if err != nil {
			return err
		}
		return l.Print(entryWritten{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, CreatedAt: public.Stamp(e.CreatedAt), Hash: e.Hash.String()})
	}
}

// entryWritten is the datum of commands that add one entry.
type entryWritten struct {
	ID        id.Message   `json:"id"`
	AgentUUID id.Agent     `json:"agent_uuid"`
	Kind      history.Kind `json:"kind"`
	CreatedAt string       `json:"created_at"`
	Hash      string       `json:"hash"`
}

func (d entryWritten) Text(w *printer.Writer) { w.Line("%d", int64(d.ID)) }
