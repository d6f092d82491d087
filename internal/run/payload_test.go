package run_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// refused demands an INVALID_EVENT that points there.
func refused(t *testing.T, kind run.Type, root any, pointer, what string) {
	t.Helper()
	text := testkit.Must(json.Marshal(root))(t)
	err := run.CheckPayload(kind, text)
	if !fault.Is(err, fault.InvalidEvent) || !strings.Contains(err.Error(), pointer) {
		t.Errorf("%s: %s %s: %v\n%s", kind, pointer, what, err, text)
	}
}

func TestEveryTypeHasAFormAndAnExample(t *testing.T) {
	examples := runtest.Examples()
	if len(examples) != len(run.Types()) {
		t.Errorf("%d examples of %d types", len(examples), len(run.Types()))
	}
	for _, kind := range run.Types() {
		if _, ok := run.PayloadShape(kind); !ok {
			t.Errorf("%s has no form", kind)
		}
		if err := runtest.Draft(1, kind, examples[kind]).Check(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestTheTypesAreThoseOfSourceAndSpecification(t *testing.T) {
	want := strings.Fields(`RUN_CREATED INPUTS_CLONED ARTIFACT_WRITTEN WORK_ITEM_QUEUED WORK_ITEM_STARTED WORK_ITEM_FINISHED GATE_RUN_STARTED
		GATE_RUN_FINISHED ISSUE_OPENED ISSUE_RESOLVED RUN_STATE_CHANGED PR_OPENED RUN_COMPLETED RUN_FAILED LLM_CALL_STARTED LLM_CALL_FINISHED
		LLM_CALL_FAILED WORK_ITEM_FAILED SECTION_STATE_CHANGED RUN_CANCELLED RUN_REOPENED RUN_FORKED RESUME_REWIND WORK_ITEM_INVALIDATED LLM_CACHE_HIT`)
	var got []string
	for _, kind := range run.Types() {
		got = append(got, string(kind))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("types\n%v\nwant\n%v", got, want)
	}
}

func TestValuesOutOfBoundsAreRefusedWithTheirPlace(t *testing.T) {
	for _, c := range []struct {
		kind          run.Type
		pointer, text string
	}{
		{run.RunCreated, "/run_id", `{"config_sha256":"` + runtest.Sum + `","run_id":"a/b"}`},
		{run.RunCreated, "/config_sha256", `{"config_sha256":"` + strings.ToUpper(runtest.Sum) + `","run_id":"a"}`},
		{run.RunStateChanged, "/new_state", `{"new_state":"READY","old_state":"CREATED"}`},
		{run.RunForked, "/event_count", `{"event_count":0,"event_hash":"` + runtest.Sum + `","event_id":"00000000-0000-7000-8000-000000000001","parent_run_id":"p"}`},
		{run.WorkItemQueued, "/attempt", strings.Replace(runtest.Examples()[run.WorkItemQueued], `"attempt":1`, `"attempt":0`, 1)},
		{run.WorkItemQueued, "/attempt", strings.Replace(runtest.Examples()[run.WorkItemQueued], `"attempt":1`, `"attempt":1.5`, 1)},
		{run.WorkItemQueued, "/attempt", strings.Replace(runtest.Examples()[run.WorkItemQueued], `"attempt":1`, `"attempt":9007199254740992`, 1)},
		{run.WorkItemQueued, "/effect", strings.Replace(runtest.Examples()[run.WorkItemQueued], `"external"`, `"none"`, 1)},
		{run.IssueOpened, "/issue/severity", strings.Replace(runtest.Examples()[run.IssueOpened], `"blocker"`, `"fatal"`, 1)},
		{run.IssueOpened, "/issue/status", strings.Replace(runtest.Examples()[run.IssueOpened], `"OPEN"`, `"CLOSED"`, 1)},
		{run.LLMCallStarted, "/max_tokens", strings.Replace(runtest.Examples()[run.LLMCallStarted], `4096`, `0`, 1)},
		{run.LLMCallStarted, "/temperature", strings.Replace(runtest.Examples()[run.LLMCallStarted], `0.5`, `-0.5`, 1)},
		{run.LLMCallFinished, "/finish_reason", strings.Replace(runtest.Examples()[run.LLMCallFinished], `"stop"`, `"end_turn"`, 1)},
		{run.LLMCallFinished, "/latency_ms", strings.Replace(runtest.Examples()[run.LLMCallFinished], `5234`, `-1`, 1)},
		{run.LLMCallFinished, "/token_usage/total_tokens", strings.Replace(runtest.Examples()[run.LLMCallFinished], `4500`, `4501`, 1)},
		{run.LLMCallFailed, "/http_status", strings.Replace(runtest.Examples()[run.LLMCallFailed], `429`, `42`, 1)},
	} {
		refused(t, c.kind, json.RawMessage(c.text), c.pointer, "is out of bounds")
	}
}

// The three examples stand in the source document as they stand here.
func TestTheSourcesExamplesOfModelCallsAreAccepted(t *testing.T) {
	for kind, text := range map[run.Type]string{
		run.LLMCallStarted: `{
  "call_id": "section_writer_my-page-slug",
  "model": "claude-sonnet-4-5",
  "provider_base_url": "https://api.anthropic.com/v1",
  "prompt_hash": "a3f2...c901",
  "temperature": 0.0,
  "max_tokens": 4096,
  "response_format": "json_object"
}`,
		run.LLMCallFinished: `{
  "call_id": "section_writer_my-page-slug",
  "latency_ms": 5234,
  "token_usage": {
    "input_tokens": 1500,
    "output_tokens": 3000,
    "total_tokens": 4500
  },
  "finish_reason": "stop",
  "output_hash": "b9e1...d783",
  "api_cost_usd": 0.0495
}`,
		run.LLMCallFailed: `{
  "call_id": "section_writer_my-page-slug",
  "latency_ms": 1205,
  "error_class": "HTTPError",
  "error_summary": "API rate limit exceeded",
  "retryable": true,
  "http_status": 429,
  "error_details": "Traceback (most recent call last):\n  ..."
}`,
	} {
		if err := run.CheckPayload(kind, []byte(text)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestATypeFromANewerVersionHasAnyObject(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"a":[1]}`: true, `[]`: false, `null`: false, `"{}"`: false, ``: false, `{`: false, `{}{}`: false, `{"a":1,"a":2}`: false} {
		if err := run.CheckPayload("FROM_A_NEWER_VERSION", []byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
