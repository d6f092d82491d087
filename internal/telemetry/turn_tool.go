package telemetry

import (
	"time"
)

// TurnTool is a call of a tool of an MCP server that ended, as its result in the history
// tells it.
type TurnTool struct {
	ID      string // of the entry and the call: a name that stays
	Server  string
	Tool    string
	Outcome string // done, failed, refused, unknown
	At      time.Time
	TookMS  int64
}

// Tool creates the record of a call of a server, finished.
func (t *Turn) Tool(c TurnTool) []Delivery {
	took := min(max(c.TookMS, 0), 1<<40)
	end := truncateTime(c.At)
	start := laterTime(t.start, end.Add(-time.Duration(took)*time.Millisecond))
	end = laterTime(start, end)
	runID := RunID("agent-"+t.agent, MCPToolCall, cutLine(c.ID, MaxName), 1)
	r := Record{EventID: EventID("agent", t.agent, string(MCPToolCall), c.ID), RunID: runID, ParentRunID: t.runID,
		AgentName: t.name, JobType: MCPToolCall, StartTime: start, EndTime: &end, DurationMS: &took}
	about := fieldValues{"trace_id": t.trace, "span_id": spanOf(runID), "parent_span_id": t.span, "agent_uuid": t.agent,
		"server": cutLine(c.Server, MaxName), "tool": cutLine(c.Tool, MaxName), "outcome": cutLine(c.Outcome, MaxName)}
	var why reason
	switch c.Outcome {
	case "done":
	case "unknown":
		why = reason{"INTERRUPTED", "nobody knows whether it happened", ""}
	default:
		why = reason{"FAILED", "the server could not do it, or could not be asked", ""}
	}
	if r.Status = why.status(); why.code != "" {
		r.ErrorSummary = why.summary()
	}
	r.Context = about.object()
	return []Delivery{createDelivery(r)}
}
