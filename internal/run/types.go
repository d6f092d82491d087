package run

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
)

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
	if err := json.Unmarshal(payload, &p); err != nil {
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
