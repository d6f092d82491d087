package follow

import (
	"time"

	"ramet/internal/telemetry"
)

// TurnHook is a hook that ran, as its entry in the history tells it.
type TurnHook struct {
	ID      string // of the entry: its hash
	Event   string // such as PreToolUse
	About   string // the tool, or what else the event is about; empty: nothing
	Program string
	From    string
	Outcome string // passed, objected, failed, timed out
	Why     string
	At      time.Time
	TookMS  int64
}

// Hook creates the record of a hook, finished: a gate of the turn. One that objected did what it is
// for; one that failed or took too long did not.
func (t *Turn) Hook(h TurnHook) []Delivery {
	took := min(max(h.TookMS, 0), 1<<40)
	end := moment(h.At)
	start := later(t.start, end.Add(-time.Duration(took)*time.Millisecond))
	end = later(start, end)
	runID := telemetry.RunID("agent-"+t.agent, telemetry.Gate, line(h.ID, telemetry.MaxName), 1)
	r := telemetry.Record{EventID: telemetry.EventID("agent", t.agent, "hook", h.ID), RunID: runID, ParentRunID: t.runID,
		AgentName: t.name, JobType: telemetry.Gate, StartTime: start, EndTime: &end, DurationMS: &took}
	about := fields{"trace_id": t.trace, "span_id": spanOf(runID), "parent_span_id": t.span, "agent_uuid": t.agent, "hook_event": line(h.Event, telemetry.MaxName),
		"program": line(h.Program, telemetry.MaxName), "from": line(h.From, telemetry.MaxName), "outcome": line(h.Outcome, telemetry.MaxName)}
	if h.About != "" {
		about["about"] = line(h.About, telemetry.MaxName)
	}
	var why reason
	switch h.Outcome {
	case "failed":
		why = reason{"FAILED", h.Why, ""}
	case "timed out":
		why = reason{"TIMED_OUT", h.Why, ""}
	}
	if r.Status = why.status(); why.code != "" {
		r.ErrorSummary = why.summary()
	}
	r.Context = about.object()
	return []Delivery{create(r)}
}
