package cli

import (
	"fmt"
	"net/url"
	"strings"

	"ramet/internal/public"

	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
)

// The public JSON shapes (docs/json.md). Fields may be added, never renamed or
// removed. What is absent is null. Those that HTTP has too are of package control.

type (
	agentShape  = public.Agent
	letterShape = public.Letter
)

var (
	shapeAgent  = public.FormatAgent
	shapeLetter = public.FormatLetter
	stamp       = public.Stamp
)

type entryShape struct {
	ID        id.Message     `json:"id"`
	AgentUUID id.Agent       `json:"agent_uuid"`
	Kind      history.Kind   `json:"kind"`
	Content   string         `json:"content"`
	Parts     []history.Part `json:"parts"`
	Meta      jsonText       `json:"meta"`
	CreatedAt string         `json:"created_at"`
	Hash      string         `json:"hash"`
	InContext bool           `json:"in_context"`
	Redacted  bool           `json:"redacted"`
}

// jsonText is JSON that is stored as it is printed.
type jsonText []byte

func (j jsonText) MarshalJSON() ([]byte, error) { return j, nil }

// shapeEntry decodes an entry and fetches its blobs.
func shapeEntry(e history.Entry, inContext bool, blob func(chain.Hash) ([]byte, error)) (entryShape, error) {
	parts, err := e.Parts()
	if err != nil {
		return entryShape{}, err
	}
	if err := history.Fill(parts, blob); err != nil {
		return entryShape{}, err
	}
	if parts == nil {
		parts = []history.Part{}
	}
	return entryShape{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, Content: history.Plain(parts), Parts: parts,
		Meta: e.Meta, CreatedAt: stamp(e.CreatedAt), Hash: e.Hash.String(), InContext: inContext,
		Redacted: e.Content == nil}, nil
}

// optional is null for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// password finds the password in a database URL.
func password(db string) string {
	u, err := url.Parse(db)
	if err != nil {
		return ""
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok {
			return p
		}
	}
	return u.Query().Get("password")
}

// exitHelp is the table of exit codes for --help.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes: 0 ok")
	last := 0
	for _, row := range fault.Table() {
		if row.Exit != last {
			fmt.Fprintf(&b, "\n%5d  %s", row.Exit, row.Code)
			last = row.Exit
			continue
		}
		fmt.Fprintf(&b, ", %s", row.Code)
	}
	return b.String()
}
