package telemetry

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
)

// Turn makes the telemetry of one turn of an agent outside runs: a worker, with an llm_call below it for each call
// of a model. It is used by one goroutine at a time.
type Turn struct {
	record
	agent, name, trace string
	calls              int64
}

// TurnStart is a turn that begins.
type TurnStart struct {
	Agent string // its UUID
	Name  string // empty: the agent has none
	// Key tells the turn from all others of the agent, for ever: the kernel's name, its
	// number there, and the time.
	Key         string
	Model       string // vendor/name
	At          time.Time
	Host        string
	TriggerType string // such as prompt, task, api
}

// BeginTurn creates the record of a turn.
func BeginTurn(s TurnStart) (*Turn, []Delivery) {
	t := &Turn{agent: s.Agent, name: cmp.Or(s.Name, s.Agent), trace: traceOf(s.Agent + " " + s.Key)}
	launch := "agent-" + s.Agent
	t.record = record{runID: RunID(launch, Worker, spanOf(s.Key), 1),
		eventID: EventID("agent", s.Agent, string(Worker), s.Key), start: truncateTime(s.At)}
	t.span = spanOf(t.runID)
	about := fieldValues{"trace_id": t.trace, "span_id": t.span, "agent_uuid": s.Agent, "turn": cutLine(s.Key, MaxName)}
	if s.Model != "" {
		about["model"] = cutLine(s.Model, MaxName)
	}
	return t, []Delivery{createDelivery(Record{EventID: t.eventID, RunID: t.runID, AgentName: t.name,
		JobType: Worker, Status: Running, StartTime: t.start, Host: s.Host,
		TriggerType: s.TriggerType, Context: about.object()})}
}

// childEnd returns the record of something below the turn that has ended, and the first fields of its context.
// kind and id give the record its id.
func (t *Turn) childEnd(job JobType, kind, id string, at time.Time, tookMS int64) (Record, fieldValues) {
	took := min(max(tookMS, 0), 1<<40)
	end := truncateTime(at)
	start := laterTime(t.start, end.Add(-time.Duration(took)*time.Millisecond))
	end = laterTime(start, end)
	runID := RunID("agent-"+t.agent, job, cutLine(id, MaxName), 1)
	r := Record{EventID: EventID("agent", t.agent, kind, id), RunID: runID, ParentRunID: t.runID, AgentName: t.name, JobType: job,
		StartTime: start, EndTime: &end, DurationMS: &took}
	return r, fieldValues{"trace_id": t.trace, "span_id": spanOf(runID), "parent_span_id": t.span, "agent_uuid": t.agent}
}

// endedDelivery creates a record that ended well, or for a reason.
func endedDelivery(r Record, why reason, about fieldValues) []Delivery {
	if r.Status = why.status(); why.code != "" {
		r.ErrorSummary = why.summary()
	}
	r.Context = about.object()
	return []Delivery{createDelivery(r)}
}

// Call creates the record of a call, finished: a call under way has no entry yet. id is the hash of its entry, or
// another name that stays.
func (t *Turn) Call(id string, at time.Time, c history.Call) []Delivery {
	t.calls++
	input := c.Input + c.CacheRead + c.CacheWrite
	r, about := t.childEnd(LLMCall, string(LLMCall), id, at, c.TookMS)
	about["call_id"] = cutLine(id, MaxName)
	for name, value := range map[string]string{"model": c.Model, "request_hash": c.Request} {
		if value != "" {
			about[name] = cutLine(value, MaxRef)
		}
	}
	used := fieldValues{"input_tokens": input, "output_tokens": c.Output, "total_tokens": input + c.Output,
		"cache_read_tokens": c.CacheRead, "cache_write_tokens": c.CacheWrite}
	if c.Priced {
		used["api_cost_usd"] = formatDollars(c.Cost)
	}
	var why reason
	switch c.Outcome {
	case "stop", "length", "tool_calls":
		used["finish_reason"] = c.Outcome
	case "error":
		used["finish_reason"] = c.Outcome
		why = reason{string(fault.Failed), "the model or its vendor refused to continue", ""}
	case "abandoned":
		why = reason{string(fault.Cancelled), "the client did not wait for the end", ""}
	default:
		used["finish_reason"], used["error_class"] = "error", cutLine(c.Outcome, MaxName)
		why = reason{orFailed(c.Outcome), "", ""}
	}
	r.Metrics = used.object()
	return endedDelivery(r, why, about)
}

// End ends the turn, well or with the code and message of a fault.
func (t *Turn) End(at time.Time, code, message string) []Delivery {
	if t.ended {
		return nil
	}
	why := reason{code, message, ""}
	status := why.status()
	if code == interrupted { // by a signal: it was wanted
		status = Cancelled
	}
	sums := fieldValues{"llm_calls": t.calls}
	return []Delivery{t.end(status, truncateTime(at), why, fieldValues{"metrics_json": sums.object()})}
}

func truncateTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// formatDollars writes an amount of nano-dollars in dollars, exactly.
func formatDollars(nano int64) json.Number {
	return json.Number(strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64))
}

// Hook creates the record of a hook, finished: a gate of the turn. One that objected did what it is
// for; one that failed or took too long did not.
func (t *Turn) Hook(id string, at time.Time, h history.Hook) []Delivery {
	r, about := t.childEnd(Gate, "hook", id, at, h.TookMS)
	for name, value := range map[string]string{"hook_event": h.Event, "program": h.Program, "from": h.From, "outcome": h.Outcome} {
		about[name] = cutLine(value, MaxName)
	}
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
	return endedDelivery(r, why, about)
}

// servedCall is the part of a result that package mcp keeps of the call of a tool.
type servedCall struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"` // done, failed, refused, unknown
	TookMS  int64  `json:"took_ms"`
}

// tool creates the record of a call of an MCP server, finished.
func (t *Turn) tool(id string, at time.Time, c servedCall) []Delivery {
	r, about := t.childEnd(MCPToolCall, string(MCPToolCall), id, at, c.TookMS)
	for name, value := range map[string]string{"server": c.Server, "tool": c.Tool, "outcome": c.Outcome} {
		about[name] = cutLine(value, MaxName)
	}
	var why reason
	switch c.Outcome {
	case "done":
	case "unknown":
		why = reason{"INTERRUPTED", "it is not known whether it happened", ""}
	default:
		why = reason{"FAILED", "the server could not do it, or could not be asked", ""}
	}
	return endedDelivery(r, why, about)
}
