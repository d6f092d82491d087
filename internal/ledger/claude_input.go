package ledger

import (
	"encoding/json"

	"ramet/internal/base/fault"
)

// ClaudeInput is what Claude Code tells a hook, as far as the ledger cares.
type ClaudeInput struct {
	Event       string `json:"hook_event_name"`
	Session     string `json:"session_id"`
	Cwd         string `json:"cwd"`
	AgentID     string `json:"agent_id"`
	AgentType   string `json:"agent_type"`
	Transcript  string `json:"agent_transcript_path"`
	Prompt      string `json:"prompt"`       // of a sub-agent, where it is told
	Reason      string `json:"reason"`       // why a session ended
	Source      string `json:"source"`       // how a session started
	Tool        string `json:"tool_name"`    // that failed
	Error       string `json:"error"`        // of that tool
	IsInterrupt bool   `json:"is_interrupt"` // the user stopped it
	ToolInput   struct {
		Type string `json:"subagent_type"`
	} `json:"tool_input"`
}

// ParseClaudeInput reads one. Fields that it does not know are passed over; one whose type is
// not the documented one is an error.
func ParseClaudeInput(data []byte) (ClaudeInput, error) {
	var in ClaudeInput
	if err := json.Unmarshal(data, &in); err != nil {
		return in, fault.New(fault.InvalidText, "read hook input: %w", err).
			WithHint("this command is for Claude Code, which gives it JSON on standard input")
	}
	if in.Event == "" {
		return in, fault.New(fault.InvalidText, "read hook input: there is no hook_event_name").
			WithHint("this command is for Claude Code, which gives it JSON on standard input")
	}
	return in, nil
}
