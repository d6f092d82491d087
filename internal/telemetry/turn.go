package telemetry

import (
	"encoding/json"
	"strconv"
	"time"

	"ramet/internal/base/fault"
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
	ParentRunID string // of the turn that forked the agent for a task; empty: none
	Host        string
	Environment string
	TriggerType string // such as prompt, task, api
}

// TurnCall is a call of a model that ended, as the usage entry of the history tells it.
type TurnCall struct {
	ID         string // of the entry: its hash, or another name that stays
	Model      string // vendor/name
	BaseURL    string
	Request    string // SHA-256 of what was sent, in hex
	Outcome    string // a finish reason, a fault's code, or abandoned
	At         time.Time
	TookMS     int64
	Input      int64 // neither from nor into a cache
	Output     int64
	CacheRead  int64
	CacheWrite int64
	NanoUSD    int64
	Priced     bool // NanoUSD is known
}

// TurnEnd describes the end of a turn. Code is empty if it ended well.
type TurnEnd struct {
	At            time.Time
	Code, Message string // of the fault
}

// BeginTurn creates the record of a turn.
func BeginTurn(s TurnStart) (*Turn, []Delivery) {
	t := &Turn{agent: s.Agent, name: firstNonEmpty(s.Name, s.Agent), trace: traceOf(s.Agent + " " + s.Key)}
	launch := "agent-" + s.Agent
	t.record = record{runID: RunID(launch, Worker, spanOf(s.Key), 1),
		eventID: EventID("agent", s.Agent, string(Worker), s.Key), start: truncateTime(s.At)}
	t.span = spanOf(t.runID)
	about := fieldValues{"trace_id": t.trace, "span_id": t.span, "agent_uuid": s.Agent, "turn": cutLine(s.Key, MaxName)}
	if s.Model != "" {
		about["model"] = cutLine(s.Model, MaxName)
	}
	return t, []Delivery{createDelivery(Record{EventID: t.eventID, RunID: t.runID, ParentRunID: s.ParentRunID, AgentName: t.name,
		JobType: Worker, Status: Running, StartTime: t.start, Host: s.Host, Environment: s.Environment,
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

// Call creates the record of a call, finished: a call under way has no entry yet.
func (t *Turn) Call(c TurnCall) []Delivery {
	t.calls++
	input := c.Input + c.CacheRead + c.CacheWrite
	r, about := t.childEnd(LLMCall, string(LLMCall), c.ID, c.At, c.TookMS)
	about["call_id"] = cutLine(c.ID, MaxName)
	for name, value := range map[string]string{"model": c.Model, "provider_base_url": withoutUser(c.BaseURL), "request_hash": c.Request} {
		if value != "" {
			about[name] = cutLine(value, MaxRef)
		}
	}
	used := fieldValues{"input_tokens": input, "output_tokens": c.Output, "total_tokens": input + c.Output,
		"cache_read_tokens": c.CacheRead, "cache_write_tokens": c.CacheWrite}
	if c.Priced {
		used["api_cost_usd"] = formatDollars(c.NanoUSD)
	}
	var why reason
	switch c.Outcome {
	case "stop", "length", "tool_calls":
		used["finish_reason"] = c.Outcome
	case "error":
		used["finish_reason"] = c.Outcome
		why = reason{string(fault.Failed), "the model or its vendor refused to go on", ""}
	case "abandoned":
		why = reason{string(fault.Cancelled), "whoever asked did not wait for the end", ""}
	default:
		used["finish_reason"], used["error_class"] = "error", cutLine(c.Outcome, MaxName)
		why = reason{orFailed(c.Outcome), "", ""}
	}
	r.Metrics = used.object()
	return endedDelivery(r, why, about)
}

// End ends the turn.
func (t *Turn) End(e TurnEnd) []Delivery {
	if t.ended {
		return nil
	}
	why := reason{e.Code, e.Message, ""}
	status := why.status()
	if e.Code == interrupted { // by a signal: it was wanted
		status = Cancelled
	}
	sums := fieldValues{"llm_calls": t.calls}
	return []Delivery{t.end(status, truncateTime(e.At), why, fieldValues{"metrics_json": sums.object()})}
}

func truncateTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// formatDollars writes an amount of nano-dollars in dollars, exactly.
func formatDollars(nano int64) json.Number {
	return json.Number(strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64))
}

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
	r, about := t.childEnd(Gate, "hook", h.ID, h.At, h.TookMS)
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
	r, about := t.childEnd(MCPToolCall, string(MCPToolCall), c.ID, c.At, c.TookMS)
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
