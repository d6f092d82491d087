package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
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
	RunID        string `json:"run_id" form:"run"`
	ConfigSHA256 string `json:"config_sha256" form:"hash"`
	Recipe       string `json:"recipe,omitempty" form:"-"`
}

// Fork is the payload of RUN_FORKED.
type Fork struct {
	ParentRunID string `json:"parent_run_id" form:"run"`
	EventID     string `json:"event_id" form:"uuid"`
	EventHash   string `json:"event_hash" form:"hash"`
	EventCount  int64  `json:"event_count" form:"positive"`
}

// Step is the payload of RUN_STATE_CHANGED.
type Step struct {
	Old    State  `json:"old_state"`
	New    State  `json:"new_state"`
	Reason string `json:"reason,omitempty" form:"text"`
}

// Why is the payload of RUN_CANCELLED, which must have a reason, and of RUN_REOPENED.
type Why struct {
	Reason string `json:"reason,omitempty" form:"text"`
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
	SHA256       string `json:"sha256" form:"hash"`
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
	Attempt        int64     `json:"attempt" form:"positive"`
	ScopeKey       string    `json:"scope_key"`
	Inputs         []FileRef `json:"inputs" form:"file"`
	Outputs        []FileRef `json:"outputs" form:"file"`
	Effect         string    `json:"effect,omitempty" form:"effect"` // EffectExternal, or nothing outside the run
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
	type plain FileRef
	return decodeEither(b, (*plain)(f), &f.Path)
}

// Started is the payload of WORK_ITEM_STARTED.
type Started struct {
	WorkItemID string `json:"work_item_id"`
}

// Finished is the payload of WORK_ITEM_FINISHED.
type Finished struct {
	WorkItemID string    `json:"work_item_id"`
	Outputs    []FileRef `json:"outputs" form:"file"`
}

// ItemFailure is the payload of WORK_ITEM_FAILED.
type ItemFailure struct {
	WorkItemID string    `json:"work_item_id"`
	Error      ItemError `json:"error" form:"failure"`
	Retryable  bool      `json:"retryable"`
}

// Gone is the message of an item's failure when the process that did it ended before it.
const Gone = "the process that did it ended"

// Invalidation is the payload of WORK_ITEM_INVALIDATED.
type Invalidation struct {
	WorkItemID string `json:"work_item_id"`
	Reason     string `json:"reason,omitempty" form:"text"`
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
	IssueID      string          `json:"issue_id"`
	Gate         string          `json:"gate"`
	Severity     string          `json:"severity" form:"severity"`
	Message      string          `json:"message" form:"text"`
	Status       IssueStatus     `json:"status"`
	ErrorCode    *string         `json:"error_code,omitempty"`
	Files        []string        `json:"files,omitempty"`
	Location     json.RawMessage `json:"location,omitempty"`
	SuggestedFix *string         `json:"suggested_fix,omitempty" form:"text"`
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
	BaseURL        string  `json:"provider_base_url" form:"text"`
	Vendor         string  `json:"provider,omitempty"` // of the model, whatever the URL
	PromptHash     string  `json:"prompt_hash"`
	Temperature    float64 `json:"temperature" form:"temperature"`
	MaxTokens      int64   `json:"max_tokens" form:"positive"`
	ToolSchemaHash string  `json:"tool_schema_hash,omitempty"`
	ResponseFormat string  `json:"response_format,omitempty"`
}

// CallEnd is the payload of LLM_CALL_FINISHED.
type CallEnd struct {
	CallID       string   `json:"call_id"`
	LatencyMS    int64    `json:"latency_ms"`
	Usage        Tokens   `json:"token_usage"`
	FinishReason string   `json:"finish_reason" form:"finish"`
	OutputHash   string   `json:"output_hash"`
	CostUSD      *float64 `json:"api_cost_usd,omitempty" form:"cost"` // nil: the price is unknown
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
	Summary    string `json:"error_summary" form:"text"`
	Details    string `json:"error_details,omitempty" form:"text"`
	Retryable  bool   `json:"retryable"`
	HTTPStatus int    `json:"http_status,omitempty" form:"status"`
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
	hash256 = shape.Hex(64)
	runID   = shape.Match(`[A-Za-z0-9_-]{1,64}`)
)

// forms are the shapes that the tag form of a field can name.
var forms = sync.OnceValue(func() map[string]*shape.Shape {
	name, text := shape.Text(1), shape.Text(0)
	return map[string]*shape.Shape{
		"text": text, "hash": hash256, "moment": Moment(), "run": runID, "uuid": shape.Match(uuidExpr), "positive": shape.Integer(1),
		"severity": shape.Enum("info", "warn", "error", "blocker"), "effect": shape.Enum("local", "external"),
		"finish": shape.Enum("stop", "length", "tool_calls", "error"), "version": shape.Enum(SchemaVersion),
		"temperature": shape.Number(0, 2), "cost": shape.Number(0, 1e12), "status": shape.Integer(100),
		// A file that goes into or comes out of a work item: its path, or more.
		"file":    shape.Either(name, shape.Object(shape.Must("path", name), shape.May("name", name), shape.May("sha256", hash256))),
		"failure": shape.Either(name, shape.Object(shape.Must("code", name), shape.Must("message", text))),
	}
})

// words are the values of the types that have few.
var words = map[reflect.Type][]string{
	reflect.TypeFor[State](): asStrings(States()), reflect.TypeFor[SectionState](): asStrings(SectionStates()),
	reflect.TypeFor[Status]():      asStrings([]Status{Pending, InProgress, Completed, ItemFailed, ItemSkipped}),
	reflect.TypeFor[IssueStatus](): asStrings([]IssueStatus{IssueOpen, IssueInProgress, IssueDone}),
}

// fieldsOf returns the members of a struct. The tag form names a shape in place of the one that the type has (- leaves
// the member out), and ? after it, as a pointer, allows null unless the member can be left out; doc describes it.
func fieldsOf(of reflect.Type) (fields []shape.Field) {
	for f := range of.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		form, null := strings.CutSuffix(f.Tag.Get("form"), "?")
		if form == "-" {
			continue
		}
		s, optional := shapeOf(f.Type, forms()[form]), options == "omitempty"
		if doc := f.Tag.Get("doc"); doc != "" {
			s = s.With(doc)
		}
		if !optional && (null || f.Type.Kind() == reflect.Pointer) {
			s = shape.Either(s, shape.Null())
		}
		fields = append(fields, shape.Field{Name: key, Shape: s, Optional: optional})
	}
	return fields
}

// shapeOf returns the shape of a type. form, unless it is nil, is that of the values or, in a list, of the elements.
func shapeOf(of reflect.Type, form *shape.Shape) *shape.Shape {
	switch kind := of.Kind(); {
	case of == reflect.TypeFor[json.RawMessage]():
		return shape.Any()
	case kind == reflect.Pointer:
		return shapeOf(of.Elem(), form)
	case kind == reflect.Slice:
		return shape.List(shapeOf(of.Elem(), form))
	case kind == reflect.Map:
		return shape.Map(shapeOf(of.Elem(), form))
	case form != nil:
		return form
	case words[of] != nil:
		return shape.Enum(words[of]...)
	case kind == reflect.Struct:
		return shape.Object(fieldsOf(of)...)
	case kind == reflect.Bool:
		return shape.Bool()
	case kind == reflect.String:
		return shape.Text(1)
	}
	return shape.Integer(0)
}

func objectOf[T any]() *shape.Shape { return shapeOf(reflect.TypeFor[T](), nil) }

// SnapshotShape is the shape of a Snapshot.
var SnapshotShape = sync.OnceValue(objectOf[Snapshot])

// IssueShape is the shape of an Issue.
var IssueShape = sync.OnceValue(objectOf[Issue])

// payloads are the shapes of all types.
var payloads = sync.OnceValue(func() map[Type]*shape.Shape {
	name := shape.Text(1)
	return map[Type]*shape.Shape{
		RunCreated: shape.Open(fieldsOf(reflect.TypeFor[Creation]())...), RunStateChanged: objectOf[Step](), RunCompleted: shape.Object(),
		RunFailed: objectOf[ItemError](), RunCancelled: shape.Object(shape.Must("reason", shape.Text(0))), RunReopened: objectOf[Why](),
		RunForked: objectOf[Fork](), ResumeRewind: objectOf[Rewind](), InputsCloned: objectOf[Clones](), ArtifactWritten: objectOf[Writing](),
		WorkItemQueued: objectOf[Queueing](), WorkItemStarted: objectOf[Started](), WorkItemFinished: objectOf[Finished](),
		WorkItemFailed: objectOf[ItemFailure](), WorkItemInvalidated: objectOf[Invalidation](), GateRunStarted: objectOf[GateStart](),
		GateRunFinished: objectOf[GateEnd](), IssueOpened: shape.Object(shape.Must("issue", shape.Open(fieldsOf(reflect.TypeFor[NewIssue]())...))),
		IssueResolved: objectOf[Resolution](), SectionStateChanged: objectOf[SectionStep](),
		PullRequestOpened: shape.Either(shape.Object(shape.Must("url", name), shape.May("bundle", name)), shape.Object(shape.Must("bundle", name))),
		LLMCallStarted:    objectOf[CallStart](), LLMCallFinished: objectOf[CallEnd](), LLMCallFailed: objectOf[CallFailure](), LLMCacheHit: objectOf[CacheHit](),
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
	if t != LLMCallFinished {
		return nil
	}
	var p CallEnd // with the one rule that no schema can express
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
		if !isHex(id, 16) {
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
