package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
)

// The types below are the payloads of events. CheckPayload checks their forms. ItemError is the payload of RUN_FAILED
// too; RUN_COMPLETED has an empty one.

// Creation is the payload of RUN_CREATED. It may have other members.
type Creation struct {
	RunID        string `json:"run_id"`
	ConfigSHA256 string `json:"config_sha256"`
	Recipe       string `json:"recipe,omitempty"`
}

// Fork is the payload of RUN_FORKED.
type Fork struct {
	ParentRunID string `json:"parent_run_id"`
	EventID     string `json:"event_id"`
	EventHash   string `json:"event_hash"`
	EventCount  int64  `json:"event_count"`
}

// Step is the payload of RUN_STATE_CHANGED.
type Step struct {
	Old    State  `json:"old_state"`
	New    State  `json:"new_state"`
	Reason string `json:"reason,omitempty"`
}

// Why is the payload of RUN_CANCELLED, which must have a reason, and of RUN_REOPENED.
type Why struct {
	Reason string `json:"reason,omitempty"`
}

// Rewind is the payload of RESUME_REWIND.
type Rewind struct {
	From State `json:"from_state"`
	To   State `json:"to_state"`
}

// Clones is the payload of INPUTS_CLONED.
type Clones struct {
	Inputs []Clone `json:"inputs"`
}

// Clone is a repository that a run works on.
type Clone struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Commit string `json:"commit"`
}

// Writing is the payload of ARTIFACT_WRITTEN.
type Writing struct {
	Name         string `json:"name"`
	Path         string `json:"path"`
	SHA256       string `json:"sha256"`
	SchemaID     string `json:"schema_id"`
	WriterWorker string `json:"writer_worker,omitempty"`
}

// Proposal is the payload of PR_OPENED: the address of a pull request, or the path of a
// bundle in its place.
type Proposal struct {
	URL    string `json:"url,omitempty"`
	Bundle string `json:"bundle,omitempty"`
}

// Queueing is the payload of WORK_ITEM_QUEUED.
type Queueing struct {
	WorkItemID     string    `json:"work_item_id"`
	Worker         string    `json:"worker"`
	Attempt        int64     `json:"attempt"`
	ScopeKey       string    `json:"scope_key"`
	Inputs         []FileRef `json:"inputs"`
	Outputs        []FileRef `json:"outputs"`
	Effect         string    `json:"effect,omitempty"` // EffectExternal, or nothing outside the run
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
}

// EffectExternal is the effect of an item that changes the world outside its run.
const EffectExternal = "external"

// FileRef is a file as a payload names it. It may also be a bare string, its path.
type FileRef struct {
	Name   string `json:"name,omitempty"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

// UnmarshalJSON also reads a bare path.
func (f *FileRef) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*f = FileRef{}
		return json.Unmarshal(b, &f.Path)
	}
	type plain FileRef
	return json.Unmarshal(b, (*plain)(f))
}

// Started is the payload of WORK_ITEM_STARTED.
type Started struct {
	WorkItemID string `json:"work_item_id"`
}

// Finished is the payload of WORK_ITEM_FINISHED.
type Finished struct {
	WorkItemID string    `json:"work_item_id"`
	Outputs    []FileRef `json:"outputs"`
}

// ItemFailure is the payload of WORK_ITEM_FAILED.
type ItemFailure struct {
	WorkItemID string    `json:"work_item_id"`
	Error      ItemError `json:"error"`
	Retryable  bool      `json:"retryable"`
}

// Gone is the message of an item's failure when the process that did it ended before it.
const Gone = "the process that did it ended"

// Invalidation is the payload of WORK_ITEM_INVALIDATED.
type Invalidation struct {
	WorkItemID string `json:"work_item_id"`
	Reason     string `json:"reason,omitempty"`
}

// GateStart is the payload of GATE_RUN_STARTED.
type GateStart struct {
	Gate string `json:"gate"`
}

// GateEnd is the payload of GATE_RUN_FINISHED.
type GateEnd struct {
	Gate   string   `json:"gate"`
	OK     bool     `json:"ok"`
	Issues []string `json:"issues"` // ids of those that are open
}

// Opening is the payload of ISSUE_OPENED. The issue may have other members, also of names that the snapshot uses.
type Opening struct {
	Issue NewIssue `json:"issue"`
}

// NewIssue is an issue in ISSUE_OPENED.
type NewIssue struct {
	ErrorCode    *string         `json:"error_code,omitempty"`
	Files        []string        `json:"files,omitempty"`
	Gate         string          `json:"gate"`
	IssueID      string          `json:"issue_id"`
	Location     json.RawMessage `json:"location,omitempty"`
	Message      string          `json:"message"`
	Severity     string          `json:"severity"`
	Status       IssueStatus     `json:"status"`
	SuggestedFix *string         `json:"suggested_fix,omitempty"`
}

// Resolution is the payload of ISSUE_RESOLVED.
type Resolution struct {
	IssueID string `json:"issue_id"`
}

// SectionStep is the payload of SECTION_STATE_CHANGED.
type SectionStep struct {
	Section string       `json:"section"`
	Old     SectionState `json:"old_state"`
	New     SectionState `json:"new_state"`
}

// CallStart is the payload of LLM_CALL_STARTED.
type CallStart struct {
	CallID         string  `json:"call_id"`
	Model          string  `json:"model"`
	BaseURL        string  `json:"provider_base_url"`
	Vendor         string  `json:"provider,omitempty"` // of the model, whatever the URL
	PromptHash     string  `json:"prompt_hash"`
	Temperature    float64 `json:"temperature"`
	MaxTokens      int64   `json:"max_tokens"`
	ToolSchemaHash string  `json:"tool_schema_hash,omitempty"`
	ResponseFormat string  `json:"response_format,omitempty"`
}

// CallEnd is the payload of LLM_CALL_FINISHED.
type CallEnd struct {
	CallID       string   `json:"call_id"`
	LatencyMS    int64    `json:"latency_ms"`
	Usage        Tokens   `json:"token_usage"`
	FinishReason string   `json:"finish_reason"`
	OutputHash   string   `json:"output_hash"`
	CostUSD      *float64 `json:"api_cost_usd,omitempty"` // nil: the price is unknown
	ToolCalls    int      `json:"tool_calls_count,omitempty"`
}

// Tokens counts the tokens of a call; the total is the sum.
type Tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// CallFailure is the payload of LLM_CALL_FAILED.
type CallFailure struct {
	CallID     string `json:"call_id"`
	LatencyMS  int64  `json:"latency_ms"`
	Class      string `json:"error_class"`
	Summary    string `json:"error_summary"`
	Details    string `json:"error_details,omitempty"`
	Retryable  bool   `json:"retryable"`
	HTTPStatus int    `json:"http_status,omitempty"`
}

// CacheHit is the payload of LLM_CACHE_HIT.
type CacheHit struct {
	CallID     string `json:"call_id"`
	CacheKey   string `json:"cache_key"`
	OutputHash string `json:"output_hash"`
}

// EvidenceFolder holds the bytes of model calls in the folder of a run.
const EvidenceFolder = "evidence/llm_calls/"

// EvidencePath is the file of a call that an attempt made.
func EvidencePath(callID string, attempt int64) string {
	return EvidenceFolder + callID + ".a" + strconv.FormatInt(attempt, 10) + ".json"
}

// ReadPayload reads the payload of an event as far as it has the form of P, for readers of logs that other programs
// wrote: members of another form, and those after them, may stay empty.
func ReadPayload[P any](payload []byte) (p P) {
	json.Unmarshal(payload, &p) // what does not fit is empty
	return p
}

// Type of an event.
type Type string

// The types that this version knows.
const (
	RunCreated          Type = "RUN_CREATED"
	RunStateChanged     Type = "RUN_STATE_CHANGED"
	RunCompleted        Type = "RUN_COMPLETED"
	RunFailed           Type = "RUN_FAILED"
	RunCancelled        Type = "RUN_CANCELLED"
	RunReopened         Type = "RUN_REOPENED"
	RunForked           Type = "RUN_FORKED"
	ResumeRewind        Type = "RESUME_REWIND"
	InputsCloned        Type = "INPUTS_CLONED"
	ArtifactWritten     Type = "ARTIFACT_WRITTEN"
	WorkItemQueued      Type = "WORK_ITEM_QUEUED"
	WorkItemStarted     Type = "WORK_ITEM_STARTED"
	WorkItemFinished    Type = "WORK_ITEM_FINISHED"
	WorkItemFailed      Type = "WORK_ITEM_FAILED"
	WorkItemInvalidated Type = "WORK_ITEM_INVALIDATED"
	GateRunStarted      Type = "GATE_RUN_STARTED"
	GateRunFinished     Type = "GATE_RUN_FINISHED"
	IssueOpened         Type = "ISSUE_OPENED"
	IssueResolved       Type = "ISSUE_RESOLVED"
	SectionStateChanged Type = "SECTION_STATE_CHANGED"
	PullRequestOpened   Type = "PR_OPENED"
	LLMCallStarted      Type = "LLM_CALL_STARTED"
	LLMCallFinished     Type = "LLM_CALL_FINISHED"
	LLMCallFailed       Type = "LLM_CALL_FAILED"
	LLMCacheHit         Type = "LLM_CACHE_HIT"
)

// Types lists the types that this version knows.
func Types() []Type {
	return []Type{RunCreated, RunStateChanged, RunCompleted, RunFailed, RunCancelled, RunReopened, RunForked,
		ResumeRewind, InputsCloned, ArtifactWritten, WorkItemQueued, WorkItemStarted, WorkItemFinished, WorkItemFailed,
		WorkItemInvalidated, GateRunStarted, GateRunFinished, IssueOpened, IssueResolved, SectionStateChanged,
		PullRequestOpened, LLMCallStarted, LLMCallFinished, LLMCallFailed, LLMCacheHit}
}

var (
	hash256  = sync.OnceValue(func() *shape.Shape { return shape.Hex(64) })
	name     = shape.Text(1)
	runState = sync.OnceValue(func() *shape.Shape { return shape.Enum(asStrings(States())...) })
	section  = sync.OnceValue(func() *shape.Shape { return shape.Enum(asStrings(SectionStates())...) })
	runID    = sync.OnceValue(func() *shape.Shape { return shape.Match(`[A-Za-z0-9_-]{1,64}`) })
	// A file that goes into or comes out of a work item: its path, or more.
	file = sync.OnceValue(func() *shape.Shape {
		return shape.Either(name, shape.Object(shape.Must("path", name), shape.May("name", name), shape.May("sha256", hash256())))
	})
	files   = sync.OnceValue(func() *shape.Shape { return shape.List(file()) })
	failure = sync.OnceValue(func() *shape.Shape {
		return shape.Either(name, shape.Object(shape.Must("code", name), shape.Must("message", shape.Text(0))))
	})
	tokens = sync.OnceValue(func() *shape.Shape { return shape.Integer(0) })
)

// issueFields returns the members of an issue in ISSUE_OPENED.
func issueFields() []shape.Field {
	return []shape.Field{
		shape.Must("issue_id", name), shape.Must("gate", name),
		shape.Must("severity", shape.Enum("info", "warn", "error", "blocker")), shape.Must("message", shape.Text(0)),
		shape.Must("status", shape.Enum("OPEN", "IN_PROGRESS", "RESOLVED")),
		shape.May("error_code", name), shape.May("files", shape.List(name)), shape.May("location", shape.Any()),
		shape.May("suggested_fix", shape.Text(0)),
	}
}

// payloads are the shapes of all types.
var payloads = sync.OnceValue(func() map[Type]*shape.Shape {
	return map[Type]*shape.Shape{
		RunCreated:      shape.Open(shape.Must("run_id", runID()), shape.Must("config_sha256", hash256())),
		RunStateChanged: shape.Object(shape.Must("old_state", runState()), shape.Must("new_state", runState()), shape.May("reason", shape.Text(0))),
		RunCompleted:    shape.Object(),
		RunFailed:       shape.Object(shape.Must("code", name), shape.Must("message", shape.Text(0))),
		RunCancelled:    shape.Object(shape.Must("reason", shape.Text(0))),
		RunReopened:     shape.Object(shape.May("reason", shape.Text(0))),
		RunForked: shape.Object(shape.Must("parent_run_id", runID()), shape.Must("event_id", shape.Match(uuidExpr)),
			shape.Must("event_hash", hash256()), shape.Must("event_count", shape.Integer(1))),
		ResumeRewind: shape.Object(shape.Must("from_state", runState()), shape.Must("to_state", runState())),
		InputsCloned: shape.Object(shape.Must("inputs", shape.List(shape.Object(
			shape.Must("name", name), shape.Must("url", name), shape.Must("commit", name))))),
		ArtifactWritten: shape.Object(shape.Must("name", name), shape.Must("path", name), shape.Must("sha256", hash256()),
			shape.Must("schema_id", name), shape.May("writer_worker", name)),
		WorkItemQueued: shape.Object(shape.Must("work_item_id", name), shape.Must("worker", name),
			shape.Must("attempt", shape.Integer(1)), shape.Must("scope_key", name), shape.Must("inputs", files()),
			shape.Must("outputs", files()), shape.May("effect", shape.Enum("local", "external")), shape.May("idempotency_key", name)),
		WorkItemStarted:     shape.Object(shape.Must("work_item_id", name)),
		WorkItemFinished:    shape.Object(shape.Must("work_item_id", name), shape.Must("outputs", files())),
		WorkItemFailed:      shape.Object(shape.Must("work_item_id", name), shape.Must("error", failure()), shape.Must("retryable", shape.Bool())),
		WorkItemInvalidated: shape.Object(shape.Must("work_item_id", name), shape.May("reason", shape.Text(0))),
		GateRunStarted:      shape.Object(shape.Must("gate", name)),
		GateRunFinished:     shape.Object(shape.Must("gate", name), shape.Must("ok", shape.Bool()), shape.Must("issues", shape.List(name))),
		IssueOpened:         shape.Object(shape.Must("issue", shape.Open(issueFields()...))),
		IssueResolved:       shape.Object(shape.Must("issue_id", name)),
		SectionStateChanged: shape.Object(shape.Must("section", name), shape.Must("old_state", section()), shape.Must("new_state", section())),
		PullRequestOpened: shape.Either(
			shape.Object(shape.Must("url", name), shape.May("bundle", name)),
			shape.Object(shape.Must("bundle", name))),
		LLMCallStarted: shape.Object(shape.Must("call_id", name), shape.Must("model", name), shape.Must("provider_base_url", shape.Text(0)), shape.May("provider", name),
			shape.Must("prompt_hash", name), shape.Must("temperature", shape.Number(0, 2)), shape.Must("max_tokens", shape.Integer(1)),
			shape.May("tool_schema_hash", name), shape.May("response_format", name)),
		LLMCallFinished: shape.Object(shape.Must("call_id", name), shape.Must("latency_ms", shape.Integer(0)),
			shape.Must("token_usage", shape.Object(shape.Must("input_tokens", tokens()), shape.Must("output_tokens", tokens()),
				shape.Must("total_tokens", tokens()))),
			shape.Must("finish_reason", shape.Enum("stop", "length", "tool_calls", "error")), shape.Must("output_hash", name),
			shape.May("api_cost_usd", shape.Number(0, 1e12)), shape.May("tool_calls_count", shape.Integer(0))),
		LLMCallFailed: shape.Object(shape.Must("call_id", name), shape.Must("latency_ms", shape.Integer(0)),
			shape.Must("error_class", name), shape.Must("error_summary", shape.Text(0)), shape.Must("retryable", shape.Bool()),
			shape.May("error_details", shape.Text(0)), shape.May("http_status", shape.Integer(100))),
		LLMCacheHit: shape.Object(shape.Must("call_id", name), shape.Must("cache_key", name), shape.Must("output_hash", name)),
	}
})

func asStrings[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// PayloadShape returns the shape of a type's payload, and whether this version knows it.
func PayloadShape(t Type) (*shape.Shape, bool) {
	s, ok := payloads()[t]
	return s, ok
}

// anObject is all that is known of the payload of a type from a newer version.
var anObject = shape.Open()

// CheckPayload refuses a payload that does not have the form of its type. Of types
// that this version does not know, any object will do.
func CheckPayload(t Type, payload []byte) error {
	s, known := payloads()[t]
	if !known {
		s = anObject
	}
	if err := s.Check(payload); err != nil {
		return invalidPayload(t, "%v", err)
	}
	if t == LLMCallFinished {
		return checkTokens(payload)
	}
	return nil
}

// checkTokens checks the one rule that no schema can express.
func checkTokens(payload []byte) error {
	var p CallEnd
	if err := fast.Unmarshal(payload, &p); err != nil {
		return invalidPayload(LLMCallFinished, "%v", err)
	}
	if p.Usage.Total != p.Usage.Input+p.Usage.Output {
		return invalidPayload(LLMCallFinished, "/token_usage/total_tokens: is %d, the sum is %d", p.Usage.Total, p.Usage.Input+p.Usage.Output)
	}
	return nil
}

func invalidPayload(t Type, format string, args ...any) error {
	return fault.New(fault.InvalidEvent, "payload of %.60s: %s", t, fmt.Sprintf(format, args...)).
		WithHint("`ramet schema event` prints the form")
}

const uuidExpr = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// CheckType refuses words that cannot be the type of an event.
func CheckType(t Type) error {
	if t != "" && strings.Trim(string(t), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return nil
	}
	return fault.New(fault.InvalidEvent, "%.60q is not a type of event", string(t)).WithHint("use capital letters and _")
}

// CheckSpans refuses what cannot be a span's id; the parent may be empty.
func CheckSpans(span, parent string) error {
	for _, id := range []string{span, cmp.Or(parent, span)} {
		if len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" {
			return fault.New(fault.InvalidEvent, "%.40q is not the id of a span", id).WithHint("use 16 hex digits in lower case")
		}
	}
	return nil
}

// ParseFork reads the payload of RUN_FORKED.
func ParseFork(e Event) (Fork, error) {
	if err := CheckPayload(e.Type, e.Payload); err != nil {
		return Fork{}, err
	}
	return readPayload[Fork](e)
}

// IsPath reports whether a path names something below the folder of a run: relative, with
// slashes, without a step upwards and without NUL. It does not look at the disk: the path is opened below the
// folder, so that no link leads out of it.
func IsPath(p string) bool {
	return p != "" && path.Clean(p) != "." && !strings.HasPrefix(p, "/") && !strings.ContainsRune(p, 0) &&
		!slices.Contains(strings.Split(p, "/"), "..")
}

// CheckPaths refuses the payload of an event that names a file outside of its run. Only writers use it: a log that
// has such an event is read as it is.
func CheckPaths(t Type, payload []byte) error {
	var p struct {
		Path    string `json:"path"`
		Inputs  []File `json:"inputs"`
		Outputs []File `json:"outputs"`
		Bundle  string `json:"bundle"`
	}
	switch t {
	case ArtifactWritten, WorkItemQueued, WorkItemFinished, PullRequestOpened:
	default:
		return nil
	}
	if err := fast.Unmarshal(payload, &p); err != nil {
		return invalidPayload(t, "%v", err)
	}
	var all []string
	for _, one := range []string{p.Path, p.Bundle} {
		if one != "" {
			all = append(all, one)
		}
	}
	for _, f := range slices.Concat(p.Inputs, p.Outputs) {
		all = append(all, f.Path)
	}
	for _, one := range all {
		if !IsPath(one) {
			return fault.New(fault.InvalidEvent, "payload of %s: %.120q is not a path below the run's folder", t, one).
				WithHint("give it relative to that folder, with slashes and without ..")
		}
	}
	return nil
}
