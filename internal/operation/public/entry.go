package public

import (
	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Entry is one entry of a history, with its contents.
type Entry struct {
	ID        id.Message     `json:"id"`
	AgentUUID id.Agent       `json:"agent_uuid"`
	Kind      history.Kind   `json:"kind"`
	Content   string         `json:"content"`
	Parts     []history.Part `json:"parts"`
	Meta      Raw            `json:"meta"`
	CreatedAt string         `json:"created_at"`
	Hash      string         `json:"hash"`
	InContext bool           `json:"in_context"`
	Redacted  bool           `json:"redacted"`
}

// Raw is JSON that is stored as it is printed.
type Raw []byte

func (j Raw) MarshalJSON() ([]byte, error) { return j, nil }

// ReadEntry decodes an entry and fetches its blobs.
func ReadEntry(e history.Entry, inContext bool, blob func(chain.Hash) ([]byte, error)) (Entry, error) {
	parts, err := e.Parts()
	if err != nil {
		return Entry{}, err
	}
	if err := history.Fill(parts, blob); err != nil {
		return Entry{}, err
	}
	if parts == nil {
		parts = []history.Part{}
	}
	return Entry{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, Content: history.Plain(parts), Parts: parts,
		Meta: e.Meta, CreatedAt: Stamp(e.CreatedAt), Hash: e.Hash.String(), InContext: inContext,
		Redacted: e.Content == nil}, nil
}

// Permitted returns, for people, who permitted or refused a call; empty: it was not asked for.
func (e Entry) Permitted() string { return history.Entry{Meta: e.Meta}.Permitted() }
