package telemetry

import (
	"encoding/json"
	"strconv"
	"time"

	"ramet/internal/base/fault"
)

// Turn makes the telemetry of one turn of an agent outside runs: a worker, and an
// llm_call below it for each call of a model. It is used by one goroutine at a time.
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
	Priced     bool // false: nobody knows the price
}

// TurnEnd is how a turn ended. Code is empty if it ended well.
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

// Call creates the record of a call, finished: what is under way has no entry yet.
func (t *Turn) Call(c TurnCall) []Delivery {
	t.calls++
	input := c.Input + c.CacheRead + c.CacheWrite
	took := min(max(c.TookMS, 0), 1<<40)
	end := truncateTime(c.At)
	start := laterTime(t.start, end.Add(-time.Duration(took)*time.Millisecond))
	end = laterTime(start, end)
	launch := "agent-" + t.agent
	runID := RunID(launch, LLMCall, cutLine(c.ID, MaxName), 1)
	r := Record{EventID: EventID("agent", t.agent, string(LLMCall), c.ID), RunID: runID, ParentRunID: t.runID,
		AgentName: t.name, JobType: LLMCall, StartTime: start, EndTime: &end, DurationMS: &took}
	about := fieldValues{"trace_id": t.trace, "span_id": spanOf(runID), "parent_span_id": t.span, "call_id": cutLine(c.ID, MaxName), "agent_uuid": t.agent}
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
	if r.Status = why.status(); why.code != "" {
		r.ErrorSummary = why.summary()
	}
	r.Context, r.Metrics = about.object(), used.object()
	return []Delivery{createDelivery(r)}
}

// End ends the turn.
func (t *Turn) End(e TurnEnd) []Delivery {
	if t.ended {
		return nil
	}
	why := reason{e.Code, e.Message, ""}
	status := why.status()
	if e.Code == interrupted { // by a signal: somebody wanted it
		status = Cancelled
	}
	sums := fieldValues{"llm_calls": t.calls}
	return []Delivery{t.end(status, truncateTime(e.At), why, fieldValues{"metrics_json": sums.object()})}
}

func truncateTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// formatDollars is an amount of nano-dollars, exactly.
func formatDollars(nano int64) json.Number {
	return json.Number(strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64))
}
