package run

import (
	"encoding/json"
	"strconv"
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
