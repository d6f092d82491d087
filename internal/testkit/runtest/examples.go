package runtest

import (
	"fmt"
	"maps"
	"time"

	"ramet/internal/run"
)

// RunID is the run of all drafts that name no other.
const RunID = "20260115T142210Z-0a1b2c3d"

// Sum is a hash to write where one belongs.
const Sum = "9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534"

// Item is the work item of the examples.
const Item = RunID + ":writer:1:intro"

var examples = map[run.Type]string{
	run.RunCreated:      `{"config_sha256":"` + Sum + `","run_id":"` + RunID + `"}`,
	run.RunStateChanged: `{"new_state":"CLONED_INPUTS","old_state":"CREATED","reason":"it is time"}`,
	run.RunCompleted:    `{}`,
	run.RunFailed:       `{"code":"NO_PROGRESS","message":"three fixes, no change"}`,
	run.RunCancelled:    `{"reason":"asked for"}`,
	run.RunReopened:     `{"reason":"asked for"}`,
	run.RunForked:       `{"event_count":1,"event_hash":"` + Sum + `","event_id":"00000000-0000-7000-8000-000000000001","parent_run_id":"parent"}`,
	run.ResumeRewind:    `{"from_state":"DRAFTING","to_state":"PLAN_READY"}`,
	run.InputsCloned:    `{"inputs":[{"commit":"1ab51d6","name":"source","url":"https://example.org/source.git"}]}`,
	run.ArtifactWritten: `{"name":"facts","path":"artifacts/facts.json","schema_id":"urn:facts:1","sha256":"` + Sum + `","writer_worker":"finder"}`,
	run.WorkItemQueued: `{"attempt":1,"effect":"external","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"` + Sum +
		`"},"plan.json"],"outputs":["drafts/intro.md"],"scope_key":"intro","work_item_id":"` + Item + `","worker":"writer"}`,
	run.WorkItemStarted:     `{"work_item_id":"` + Item + `"}`,
	run.WorkItemFinished:    `{"outputs":[{"name":"intro","path":"drafts/intro.md","sha256":"` + Sum + `"}],"work_item_id":"` + Item + `"}`,
	run.WorkItemFailed:      `{"error":{"code":"TIMEOUT","message":"took too long"},"retryable":true,"work_item_id":"` + Item + `"}`,
	run.WorkItemInvalidated: `{"reason":"asked for","work_item_id":"` + Item + `"}`,
	run.GateRunStarted:      `{"gate":"links"}`,
	run.GateRunFinished:     `{"gate":"links","issues":["i1"],"ok":false}`,
	run.IssueOpened: `{"issue":{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},` +
		`"message":"no such page","severity":"blocker","status":"OPEN","suggested_fix":"remove it"}}`,
	run.IssueResolved:       `{"issue_id":"i1"}`,
	run.SectionStateChanged: `{"new_state":"OUTLINED","old_state":"NOT_STARTED","section":"intro"}`,
	run.PullRequestOpened:   `{"bundle":"reports/pr.bundle","url":"https://example.org/pull/1"}`,
	run.LLMCallStarted: `{"call_id":"writer_intro_1","max_tokens":4096,"model":"m","prompt_hash":"a3f2...c901","provider_base_url":"https://example.org/v1",` +
		`"response_format":"text","temperature":0.5,"tool_schema_hash":"b9e1...d783"}`,
	run.LLMCallFinished: `{"api_cost_usd":0.0495,"call_id":"writer_intro_1","finish_reason":"stop","latency_ms":5234,"output_hash":"b9e1...d783",` +
		`"token_usage":{"input_tokens":1500,"output_tokens":3000,"total_tokens":4500},"tool_calls_count":0}`,
	run.LLMCallFailed: `{"call_id":"writer_intro_1","error_class":"HTTPError","error_details":"Traceback","error_summary":"rate limit",` +
		`"http_status":429,"latency_ms":1205,"retryable":true}`,
	run.LLMCacheHit: `{"cache_key":"k","call_id":"writer_intro_1","output_hash":"b9e1...d783"}`,
}

// Examples gives a payload for each type that run knows, in RFC 8785 form, with
// every field that it may have.
func Examples() map[run.Type]string { return maps.Clone(examples) }

// Draft is the nth event of the run RunID: its id and time follow from n.
func Draft(n int, t run.Type, payload string) run.Draft {
	return run.Draft{
		ID:      fmt.Sprintf("%08x-0000-7000-8000-000000000000", n),
		RunID:   RunID,
		TS:      run.FormatTime(time.Unix(1_768_486_930+int64(n), 0)),
		Type:    t,
		Payload: []byte(payload),
		TraceID: "0af7651916cd43dd8448eb211c80319c",
		SpanID:  fmt.Sprintf("%016x", n),
	}
}
