package telemetry

import (
	"time"
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
	end := truncateTime(h.At)
	start := laterTime(t.start, end.Add(-time.Duration(took)*time.Millisecond))
	end = laterTime(start, end)
	runID := RunID("agent-"+t.agent, Gate, cutLine(h.ID, MaxName), 1)
	r := Record{EventID: EventID("agent", t.agent, "hook", h.ID), RunID: runID, ParentRunID: t.runID,
		AgentName: t.name, JobType: Gate, StartTime: start, EndTime: &end, DurationMS: &took}
	about := fieldValues{"trace_id": t.trace, "span_id": spanOf(runID), "parent_span_id": t.span, "agent_uuid": t.agent, "hook_event": cutLine(h.Event, MaxName),
		"program": cutLine(h.Program, MaxName), "from": cutLine(h.From, MaxName), "outcome": cutLine(h.Outcome, MaxName)}
	if h.About != "" {
		about["about"] = cutLine(h.About, MaxName)
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
	return []Delivery{createDelivery(r)}
}
