package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
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
	t := &Turn{agent: s.Agent, name: cmp.Or(s.Name, s.Agent), trace: chain.Sum([]byte("trace " + s.Agent + " " + s.Key)).String()[:32]}
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
		used["api_cost_usd"] = json.Number(strconv.FormatFloat(float64(c.Cost)/1e9, 'f', -1, 64)) // exactly
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

// TurnlogOptions configures a turnlog.
type TurnlogOptions struct {
	Feed   registry.Feed
	Agents agent.Directory
	// InRun reports whether a child of agent 0 is the own agent of a run. It is asked once about each agent.
	InRun func(id.Agent) bool
	// Put takes deliveries; it does not block.
	Put func(...Delivery)
	// Path is the file that says how far the histories were followed.
	Path string
	Host string
	// Look is the interval between reads of the feed; 0: a second.
	Look time.Duration
	// Tell receives a message when the store cannot be read, and when it can again; may be nil.
	Tell func(string)
}

// Turnlog follows the histories of a workspace. It is used by one goroutine at a time.
type Turnlog struct {
	TurnlogOptions
	at    registry.Cursor
	kept  registry.Cursor // what the file says
	open  map[id.Agent]*Turn
	asked map[id.Agent]history.Entry // the newest words of the user, before a call followed
	last  map[id.Agent]*Turn         // that ended, for hooks that ran then
	early map[id.Agent][]history.Entry
	runs  map[id.Agent]bool // whether an agent is below a run
}

// page limits the entries that are read at once.
const page = 500

// KeepTurnlog follows until ctx ends.
func KeepTurnlog(ctx context.Context, o TurnlogOptions) error {
	b := &Turnlog{TurnlogOptions: o, open: map[id.Agent]*Turn{}, asked: map[id.Agent]history.Entry{}, last: map[id.Agent]*Turn{}, early: map[id.Agent][]history.Entry{}, runs: map[id.Agent]bool{}}
	if b.Look == 0 {
		b.Look = time.Second
	}
	text, err := os.ReadFile(o.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("read", o.Path, err)
	}
	b.at = registry.Cursor(strings.TrimSpace(string(text)))
	b.kept = b.at
	tick := time.NewTicker(b.Look)
	defer tick.Stop()
	away := false
	for {
		more, err := b.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case fault.Is(err, fault.InvalidID):
			b.at = "" // of another database: from the beginning, which does no harm
		case fault.Is(err, fault.StorageUnreachable) || fault.Is(err, fault.Locked):
			if more = false; !away {
				b.tell("turns of agents are recorded when the store answers again: " + err.Error())
			}
			away = true
			b.rewind()
		case err != nil:
			return err
		case away:
			away = false
			b.tell("turns of agents are recorded again")
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (b *Turnlog) tell(what string) {
	if b.Tell != nil {
		b.Tell(what)
	}
}

// rewind goes back to the place that was kept. Entries after it are read again; the same deliveries twice do no harm.
func (b *Turnlog) rewind() {
	b.at = b.kept
	clear(b.open)
	clear(b.asked)
	clear(b.last)
	clear(b.early)
}

// read follows one page, and reports whether there may be another.
func (b *Turnlog) read(ctx context.Context) (more bool, err error) {
	changes, next, err := b.Feed.Changes(ctx, b.at, page)
	if err != nil {
		return false, err
	}
	for _, c := range changes {
		if c.Entry == nil {
			continue
		}
		if err := b.follow(ctx, *c.Entry); err != nil {
			return false, err
		}
	}
	b.at = next
	// The next process reads a turn that is under way again from its beginning; so the place is kept only between
	// turns.
	if len(b.open) == 0 && b.at != b.kept {
		if err := durable.WriteFile(b.Path, []byte(string(b.at)+"\n"), 0o600); err != nil {
			return false, err
		}
		b.kept = b.at
	}
	return len(changes) == page, nil
}

func (b *Turnlog) follow(ctx context.Context, e history.Entry) error {
	switch e.Kind {
	case history.User, history.Usage, history.Interrupted, history.Killed, history.ToolResult, history.Command:
	default:
		return nil
	}
	if below, err := b.below(ctx, e.Agent); err != nil || below {
		return err
	}
	t := b.open[e.Agent]
	switch e.Kind {
	case history.User:
		b.end(e.Agent, e.CreatedAt, string(fault.Interrupted), "something else was said before it ended")
		b.asked[e.Agent] = e
	case history.Interrupted:
		b.end(e.Agent, e.CreatedAt, string(fault.Interrupted), "it was interrupted")
	case history.Killed:
		b.end(e.Agent, e.CreatedAt, string(fault.Killed), "the agent was killed")
		delete(b.asked, e.Agent)
		delete(b.runs, e.Agent)
		delete(b.last, e.Agent)
		delete(b.early, e.Agent)
	case history.ToolResult:
		return b.tools(t, e)
	case history.Command:
		b.hook(e)
	case history.Usage:
		m, err := e.Decode()
		if err != nil || m.Call == nil {
			return err
		}
		if t == nil {
			if t, err = b.begin(ctx, e, *m.Call); err != nil {
				return err
			}
		}
		b.call(t, e, m)
	}
	return nil
}

// begin begins a turn with its first call: when the user spoke, or when it was asked.
func (b *Turnlog) begin(ctx context.Context, e history.Entry, c history.Call) (*Turn, error) {
	a, err := b.Agents.Agent(ctx, e.Agent)
	if err != nil {
		return nil, err
	}
	s := TurnStart{Agent: string(e.Agent), Name: a.Name, Key: "entry " + strconv.FormatInt(int64(e.ID), 10), Model: c.Model,
		At: e.CreatedAt.Add(-time.Duration(c.TookMS) * time.Millisecond), Host: b.Host, TriggerType: "task"}
	if said, ok := b.asked[e.Agent]; ok {
		s.Key, s.At, s.TriggerType = "entry "+strconv.FormatInt(int64(said.ID), 10), said.CreatedAt, "prompt"
		delete(b.asked, e.Agent)
	}
	t, deliveries := BeginTurn(s)
	b.Put(deliveries...)
	b.open[e.Agent] = t
	for _, hook := range b.early[e.Agent] { // the turn is open now
		b.hook(hook)
	}
	delete(b.early, e.Agent)
	return t, nil
}

// call records a call; one that does not lead to another ends the turn. A call of another program through the
// gateway never does: its turn ends with an entry that sums up its calls.
func (b *Turnlog) call(t *Turn, e history.Entry, m history.Meta) {
	c := *m.Call
	if !m.Summed() {
		b.Put(t.Call(e.Hash.String(), e.CreatedAt, c)...)
	}
	if m.Wired() {
		return
	}
	switch c.Outcome {
	case "tool_calls":
	case "stop", "length":
		b.end(e.Agent, e.CreatedAt, "", "")
	case "abandoned":
		b.end(e.Agent, e.CreatedAt, string(fault.Cancelled), "the caller did not wait for the end")
	default:
		b.end(e.Agent, e.CreatedAt, c.Outcome, "the call of the model failed")
	}
}

func (b *Turnlog) end(a id.Agent, at time.Time, code, message string) {
	if t := b.open[a]; t != nil {
		b.Put(t.End(at, code, message)...)
		delete(b.open, a)
		b.last[a] = t
	}
}

// below reports whether an agent belongs to a run.
func (b *Turnlog) below(ctx context.Context, a id.Agent) (bool, error) {
	if known, ok := b.runs[a]; ok {
		return known, nil
	}
	row, err := b.Agents.Agent(ctx, a)
	if err != nil {
		return false, err
	}
	found := row.Depth == 1 && b.InRun(a)
	if row.Depth > 1 {
		if found, err = b.below(ctx, row.Parent); err != nil {
			return false, err
		}
	}
	b.runs[a] = found
	return found, nil
}

// mostEarly limits the hooks of an agent that are kept until its turn begins.
const mostEarly = 100

// hook records a hook that ran: below the turn that is under way, or the last one; one that ran
// before its turn began, when that begins.
func (b *Turnlog) hook(e history.Entry) {
	var m history.Meta
	if json.Unmarshal(e.Meta, &m) != nil || m.Hook == nil {
		return
	}
	t := b.open[e.Agent]
	switch m.Hook.Event {
	case "UserPromptSubmit", "SessionStart", "SubagentStart":
	default:
		if t == nil {
			t = b.last[e.Agent]
		}
	}
	if t != nil {
		b.Put(t.Hook(e.Hash.String(), e.CreatedAt, *m.Hook)...)
	} else if len(b.early[e.Agent]) < mostEarly {
		b.early[e.Agent] = append(b.early[e.Agent], e)
	}
}

// tools records the calls of MCP servers among results.
func (b *Turnlog) tools(t *Turn, e history.Entry) error {
	if t == nil {
		return nil // of a turn whose beginning was not followed
	}
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		var s struct {
			MCP *servedCall `json:"mcp"`
		}
		if p.Memo == nil || json.Unmarshal(p.Memo, &s) != nil || s.MCP == nil {
			continue
		}
		b.Put(t.tool(e.Hash.String()+" "+p.CallID, e.CreatedAt, *s.MCP)...)
	}
	return nil
}
