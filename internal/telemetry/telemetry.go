// Package telemetry records what ran: one telemetry run for each launch, node, worker, gate and model call, in a
// tree below its launch. Follow derives the records from the event log of a run, Turn from an agent's turn
// outside runs, and KeepTurnlog from the histories of a workspace. Package outbox delivers them, and package store
// keeps them.
//
// A record is created once and changed by patches. Its event_id is the key: the same body sent again is the same
// record, another body under the same id is ID_REUSED. Ids follow from what they stand for (see EventID), so that a
// re-send after a crash is the same.
//
// Bodies from outside are read strictly (ParseNew, ParsePatch, ParseFilter): what is not understood is refused with
// INVALID_FIELD, and Details gives a JSON pointer to every wrong field. Two bodies are the same if the SHA-256 over
// their RFC 8785 form is.
//
// # Following
//
//   - The same events give the same deliveries, byte by byte. What was lost is made again from the log, and a service
//     that had it already sees a duplicate. What only the live process knows (host, environment) comes separately,
//     as changes; see Here.
//   - Whatever the log holds, there is no error and no panic. What is not understood makes no record.
//   - Every LLM_CALL_* event has exactly one llm_call with the event's trace_id and span_id.
//   - A record is created before it is changed, and what began ends: with its own event, with the end of what it
//     belongs to, or with the next launch.
//   - KeepTurnlog reads what is durable already, so that a turn pays nothing for it, and continues where the last one
//     stopped. Agents that work for runs are left out: their calls are in the logs of the runs.
//
// # Launches
//
// The first launch of a run is its first event after RUN_CREATED or RUN_FORKED. A further launch begins with the
// first of
//
//   - RUN_REOPENED or RESUME_REWIND,
//   - RUN_STATE_CHANGED with the reason RUN_REOPENED, RESUME_REWIND or RESUME_FORCED,
//   - WORK_ITEM_FAILED with the code INTERRUPTED and the message of an orchestrator that finds an item of a process
//     that is gone,
//
// and further ones of these, and of WORK_ITEM_INVALIDATED, that follow directly belong to it. What was open is closed
// as INTERRUPTED at the time of the last event before. A process that resumes in a stable state with nothing to
// discard writes nothing and continues the launch.
//
// A record has the trace and the span of the event that began it. What began without an event (the state in which a
// launch finds the run) has a span made of its run_id, as package runner makes those of items.
package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"ramet/internal/base/fault"
)

// JobType is the kind of job of a record.
type JobType string

// The job types.
const (
	Launch       JobType = "launch"
	Node         JobType = "orchestrator_node"
	Worker       JobType = "worker"
	Gate         JobType = "gate"
	LLMCall      JobType = "llm_call"
	MCPToolCall  JobType = "mcp_tool_call"
	CommitThings JobType = "commit_service"
)

// Status of a record. On input failed, completed, succeeded and canceled are understood.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Success   Status = "success"
	Failure   Status = "failure"
	Partial   Status = "partial"
	Timeout   Status = "timeout"
	Cancelled Status = "cancelled"
)

// Record is one telemetry run. Absent is nil; times are UTC. The tag form says how requests name a field.
type Record struct {
	EventID     string  `json:"event_id" form:"uuid must fixed"` // UUID
	RunID       string  `json:"run_id" form:"run must fixed"`    // unique
	ParentRunID string  `json:"parent_run_id,omitempty" form:"run"`
	AgentName   string  `json:"agent_name" form:"must"`
	JobType     JobType `json:"job_type" form:"must fixed"`
	Status      Status  `json:"status"`

	StartTime  time.Time  `json:"start_time" form:"must"`
	EndTime    *time.Time `json:"end_time,omitempty"`
	CreatedAt  time.Time  `json:"created_at" form:"service"` // by the service
	UpdatedAt  time.Time  `json:"updated_at" form:"service"` // by the service
	DurationMS *int64     `json:"duration_ms,omitempty"`

	Product         string `json:"product,omitempty"`
	ItemsDiscovered int64  `json:"items_discovered"`
	ItemsSucceeded  int64  `json:"items_succeeded"`
	ItemsFailed     int64  `json:"items_failed"`
	ItemsSkipped    int64  `json:"items_skipped"`

	InputSummary  string `json:"input_summary,omitempty" form:"summary"`
	OutputSummary string `json:"output_summary,omitempty" form:"summary"`
	SourceRef     string `json:"source_ref,omitempty" form:"ref"`
	TargetRef     string `json:"target_ref,omitempty" form:"ref"`
	ErrorSummary  string `json:"error_summary,omitempty" form:"summary"`
	ErrorDetails  string `json:"error_details,omitempty" form:"details"`

	GitRepo            string     `json:"git_repo,omitempty" form:"ref"`
	GitBranch          string     `json:"git_branch,omitempty"`
	GitCommitHash      string     `json:"git_commit_hash,omitempty" form:"commit"`
	GitCommitSource    string     `json:"git_commit_source,omitempty"`
	GitCommitAuthor    string     `json:"git_commit_author,omitempty"`
	GitCommitTimestamp *time.Time `json:"git_commit_timestamp,omitempty"`
	GitRunTag          string     `json:"git_run_tag,omitempty"`

	Host        string `json:"host,omitempty"`
	Environment string `json:"environment,omitempty"`
	TriggerType string `json:"trigger_type,omitempty"`

	Metrics json.RawMessage `json:"metrics_json,omitempty"` // an object
	Context json.RawMessage `json:"context_json,omitempty"` // an object
}

// Filter chooses records. Zero fields choose nothing away.
type Filter struct {
	AgentName, RunID, ParentRunID, TraceID string
	Status                                 Status
	JobType                                JobType
	CreatedBefore, CreatedAfter            time.Time // exclusive
	StartFrom, StartTo                     time.Time // inclusive
	Limit                                  int       // 1 to MaxLimit; 0: DefaultLimit
	Cursor                                 string    // of the page before
}

// Sums of a subtree.
type Sums struct {
	Records      int64   `json:"records"`
	Calls        int64   `json:"llm_calls"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	TotalTokens  int64   `json:"total_tokens"`
	CostUSD      float64 `json:"api_cost_usd"`
	DurationMS   int64   `json:"duration_ms"` // of the models' calls
}

// Branch is a record with everything below it.
type Branch struct {
	Record
	Sums     Sums     `json:"sums"`
	Children []Branch `json:"children"`
}

// Metadata lists the values to filter by.
type Metadata struct {
	AgentNames []string  `json:"agent_names"`
	JobTypes   []JobType `json:"job_types"`
	Statuses   []Status  `json:"statuses"`
	Records    int64     `json:"records"`
}

// Outcome of a create.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Duplicate Outcome = "duplicate" // the same body was created before
)

// Store keeps records. All methods are safe for concurrent use and return when it is
// durable. Unknown ids are NOT_FOUND.
type Store interface {
	// Create keeps records, in order, and says of each what came of it; err is about all.
	// Another body (by its hash) under a known event_id, or a known run_id under another
	// event_id, is ID_REUSED. The parent need not be known yet.
	Create(ctx context.Context, news []New) ([]Result, error)
	// Patch changes fields of a record; see Apply. What Apply refuses changes nothing.
	Patch(ctx context.Context, eventID string, p Patch) (Record, error)
	// PatchAll makes many changes, in order. Unlike those of Create the results of
	// changes that were made have no outcome.
	PatchAll(ctx context.Context, changes []Change) ([]Result, error)
	Get(ctx context.Context, eventID string) (Record, error)
	// List gives a page, newest first, and the cursor of the next; empty: none.
	List(ctx context.Context, f Filter) ([]Record, string, error)
	// Tree gives a record with all below it, with sums; CONFLICT if that is over MaxTree.
	Tree(ctx context.Context, eventID string) (Branch, error)
	Metadata(ctx context.Context) (Metadata, error)
	Close() error
}

// New is a record to be created, with the hash of the body that asked for it.
type New struct {
	Record
	BodyHash string // SHA-256 of the canonical form
}

// Change is a patch of one record.
type Change struct {
	EventID string
	Patch   Patch
}

// Result is the result of one create or change.
type Result struct {
	Outcome Outcome
	Record  Record // as it is now
	Err     error  // a fault; then the rest is empty
}

// Patch is a change of known fields: those of a record but event_id, run_id, job_type,
// created_at and updated_at. ParsePatch makes it, Apply carries it out.
type Patch struct {
	changes []change // in the order of the body
}

// change is the new value of one field.
type change struct {
	name string
	set  func(*Record)
}

func (p Patch) has(name string) bool {
	return slices.ContainsFunc(p.changes, func(c change) bool { return c.name == name })
}

// Total adds up the records of one job type and status, for /metrics.
type Total struct {
	JobType JobType
	Status  Status
	Sums
}

// Apply carries out a patch at a time, or refuses all of it:
//
//   - what has ended does not run again: CONFLICT; another end is fine, since a launch
//     that ended well may turn out partial;
//   - an end before the start, or a run that is its own parent: INVALID_FIELD;
//   - if the patch moves the start or the end and gives no duration_ms, the duration is
//     what lies between them; without an end there is none;
//   - updated_at is the time, and never goes back.
//
// The same patch again changes nothing but updated_at.
func Apply(r Record, p Patch, now time.Time) (Record, error) {
	before := r
	for _, c := range p.changes {
		c.set(&r)
	}
	if before.Status != Running && r.Status == Running {
		return before, fault.New(fault.Conflict, "telemetry run %s has ended with status %s and cannot be running again", r.EventID, before.Status).
			WithHint("create another record for another attempt")
	}
	blame := "/start_time"
	if p.has("end_time") {
		blame = "/end_time"
	}
	if complaint := r.check(blame); complaint != nil {
		return before, (&Invalid{Fields: []FieldError{*complaint}}).err("change of telemetry run " + r.EventID)
	}
	if !p.has("duration_ms") {
		switch {
		case r.EndTime != nil && (p.has("start_time") || p.has("end_time")):
			r.DurationMS = new(r.EndTime.Sub(r.StartTime).Milliseconds())
		case r.EndTime == nil && p.has("end_time"):
			r.DurationMS = nil
		}
	}
	if now = now.UTC().Truncate(time.Microsecond); now.After(r.UpdatedAt) {
		r.UpdatedAt = now
	}
	return r, nil
}

const (
	// MaxTree limits the records of a tree.
	MaxTree = 100_000
	// MaxLevels limits the levels of a tree; deeper records are children of the last level.
	MaxLevels = 200
)

// BuildTree makes the tree of a record out of the records below it, in any order. Those that
// do not hang on it are left out, and a circle of parents is cut where it comes back.
// Children stand in the order of their start.
func BuildTree(root Record, below []Record) Branch {
	order := make([]int, len(below)) // records are large to move
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &below[i], &below[j]
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.RunID, b.RunID))
	})
	of := map[string][]int{} // parent's run_id to indexes
	for _, i := range order {
		if below[i].RunID != root.RunID {
			of[below[i].ParentRunID] = append(of[below[i].ParentRunID], i)
		}
	}
	type node struct {
		record *Record
		host   int // whose child it is drawn as; an index of nodes
		level  int
		kids   []Branch
		count  int
	}
	nodes := make([]node, 1, len(below)+1)
	nodes[0] = node{record: &root, host: -1}
	for at := 0; at < len(nodes); at++ {
		run := nodes[at].record.RunID
		host := at
		if nodes[at].level >= MaxLevels-1 {
			host = nodes[at].host
		}
		for _, i := range of[run] {
			nodes[host].count++
			nodes = append(nodes, node{record: &below[i], host: host, level: nodes[host].level + 1})
		}
		delete(of, run) // a record appears once
	}
	// From the leaves up: a host stands before those that it hosts.
	var out Branch
	for at := len(nodes) - 1; at >= 0; at-- {
		n := &nodes[at]
		slices.Reverse(n.kids)
		b := Branch{Record: *n.record, Sums: SumsOf(*n.record), Children: n.kids}
		if b.Children == nil {
			b.Children = []Branch{}
		}
		for i := range n.kids {
			b.Sums.Add(n.kids[i].Sums)
		}
		if n.host < 0 {
			out = b
			break
		}
		host := &nodes[n.host]
		if host.kids == nil {
			host.kids = make([]Branch, 0, host.count)
		}
		host.kids = append(host.kids, b)
	}
	return out
}

// SumsOf returns the sums of one record. Tokens, cost and time are counted where a model
// was called, so that a launch that repeats the sum of its calls does not double it.
func SumsOf(r Record) Sums {
	s := Sums{Records: 1}
	if r.JobType != LLMCall {
		return s
	}
	s.Calls = 1
	if r.DurationMS != nil {
		s.DurationMS = *r.DurationMS
	}
	var metrics map[string]any
	if json.Unmarshal(r.Metrics, &metrics) != nil {
		return s
	}
	amount := func(name string) (float64, bool) {
		f, ok := metrics[name].(float64)
		return max(f, 0), ok && f >= 0
	}
	tokens := func(name string) (int64, bool) {
		f, ok := amount(name)
		return int64(min(f, 1<<53)), ok
	}
	s.InputTokens, _ = tokens("input_tokens")
	s.OutputTokens, _ = tokens("output_tokens")
	s.CostUSD, _ = amount("api_cost_usd")
	total, ok := tokens("total_tokens")
	if s.TotalTokens = total; !ok {
		s.TotalTokens = s.InputTokens + s.OutputTokens
	}
	return s
}

// Add adds other sums to these. What does not fit stays at the largest number.
func (s *Sums) Add(o Sums) {
	for _, pair := range []struct {
		to   *int64
		more int64
	}{
		{&s.Records, o.Records}, {&s.Calls, o.Calls}, {&s.InputTokens, o.InputTokens},
		{&s.OutputTokens, o.OutputTokens}, {&s.TotalTokens, o.TotalTokens}, {&s.DurationMS, o.DurationMS},
	} {
		if *pair.to += pair.more; *pair.to < 0 {
			*pair.to = math.MaxInt64
		}
	}
	s.CostUSD = min(s.CostUSD+o.CostUSD, math.MaxFloat64)
}

// TraceID returns the trace that a record's context names, if it can be looked for.
func (r Record) TraceID() string {
	var about map[string]any
	if json.Unmarshal(r.Context, &about) != nil {
		return ""
	}
	id, _ := about["trace_id"].(string)
	if readFilterText(new(string), id) != nil {
		return ""
	}
	return id
}
