package acp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tool is the program's own name of the tool, which Claude Code and goose tell beside the call: titles
// are for people.
func (t toolCall) tool() string {
	var told struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
		Goose struct {
			Call struct {
				Tool      string `json:"toolName"`
				Extension string `json:"extensionName"`
			} `json:"toolCall"`
		} `json:"goose"`
	}
	if len(t.Meta) == 0 || json.Unmarshal(t.Meta, &told) != nil {
		return ""
	}
	if g := told.Goose.Call; g.Tool != "" && g.Extension != "" {
		return g.Extension + "__" + strings.TrimPrefix(g.Tool, g.Extension+"__")
	}
	return told.Claude.Tool
}

// printed is what a command printed since it was told of last. Codex tells pieces of the output, and the
// exit, beside the call, and never again; so do others, as clients do that show terminals.
func (t toolCall) printed() string {
	var told map[string]json.RawMessage
	if len(t.Meta) == 0 || json.Unmarshal(t.Meta, &told) != nil {
		return ""
	}
	var out strings.Builder
	for _, key := range []string{"terminal_output_delta", "terminal_output", "mcp_output_delta"} {
		var piece struct {
			Data string `json:"data"`
		}
		if raw := told[key]; raw != nil && json.Unmarshal(raw, &piece) == nil {
			out.WriteString(piece.Data)
		}
	}
	var exit struct {
		Code   int    `json:"exit_code"`
		Signal string `json:"signal"`
	}
	if raw := told["terminal_exit"]; raw != nil && json.Unmarshal(raw, &exit) == nil {
		switch {
		case exit.Signal != "":
			fmt.Fprintf(&out, "\n[signal %s]", exit.Signal)
		case exit.Code != 0:
			fmt.Fprintf(&out, "\n[exit code %d]", exit.Code)
		}
	}
	return out.String()
}
