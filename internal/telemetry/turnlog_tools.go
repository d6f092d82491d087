package telemetry

import (
	"encoding/json"

	"ramet/internal/core/history"
)

// served is what the result of a tool of an MCP server keeps of the call (package mcp).
type served struct {
	MCP *struct {
		Server  string `json:"server"`
		Tool    string `json:"tool"`
		Outcome string `json:"outcome"`
		TookMS  int64  `json:"took_ms"`
	} `json:"mcp"`
}

// tools records the calls of MCP servers among results.
func (b *Turnlog) tools(t *turn, e history.Entry) error {
	if t == nil {
		return nil // of a turn whose beginning nobody saw
	}
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		var s served
		if p.Memo == nil || json.Unmarshal(p.Memo, &s) != nil || s.MCP == nil {
			continue
		}
		b.Put(t.Tool(TurnTool{ID: e.Hash.String() + " " + p.CallID, Server: s.MCP.Server, Tool: s.MCP.Tool, Outcome: s.MCP.Outcome, At: e.CreatedAt, TookMS: s.MCP.TookMS})...)
	}
	return nil
}
