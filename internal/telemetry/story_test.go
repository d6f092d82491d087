package telemetry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/history"
	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

var epoch = time.Date(2026, 1, 15, 14, 22, 10, 0, time.UTC)

func spanOfItem(id string) string { return runner.SpanOf(id) }

func itemOf(payload []byte) string {
	var p struct {
		ID string `json:"work_item_id"`
	}
	json.Unmarshal(payload, &p)
	return p.ID
}

// log writes events as the orchestrator does, 100 ms apart. A line is TYPE, then pairs of
// names and values of the payload, which stands for itself where it begins with {.
func log(t *testing.T, text string) (events []run.Event) {
	t.Helper()
	for i, row := range strings.Split(strings.TrimSpace(text), "\n") {
		kind, payload, _ := strings.Cut(strings.TrimSpace(row), " ")
		e := run.Event{RunID: "r1", Type: run.Type(kind), TS: epoch.Add(time.Duration(i) * 100 * time.Millisecond).Format(time.RFC3339Nano),
			TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: fmt.Sprintf("%016x", i+1), Payload: []byte(payload)}
		if !json.Valid(e.Payload) {
			t.Fatalf("line %d: %s", i, payload)
		}
		var p struct {
			CallID string `json:"call_id"`
			Item   string `json:"item"` // not of the payload: whose call it is
		}
		json.Unmarshal(e.Payload, &p)
		switch {
		case strings.HasPrefix(kind, "LLM_"):
			e.SpanID, e.ParentSpan = runner.SpanOf(p.Item+" "+p.CallID), runner.SpanOf(p.Item)
		case strings.HasPrefix(kind, "WORK_ITEM_"):
			e.SpanID = runner.SpanOf(itemOf(e.Payload))
		}
		events = append(events, e)
	}
	return events
}

const story = `
RUN_CREATED {"run_id":"r1","config_sha256":"c0ffee","recipe":"docs"}
WORK_ITEM_QUEUED {"work_item_id":"r1:clone:1:all","worker":"clone","attempt":1,"scope_key":"all","inputs":[],"outputs":["x"]}
WORK_ITEM_STARTED {"work_item_id":"r1:clone:1:all"}
INPUTS_CLONED {"inputs":[{"name":"repo","url":"https://me:secret@example.org/x.git","commit":"1ab51d6"}]}
WORK_ITEM_FINISHED {"work_item_id":"r1:clone:1:all","outputs":[{"path":"x","sha256":"00"}]}
RUN_STATE_CHANGED {"old_state":"CREATED","new_state":"CLONED_INPUTS"}
RUN_STATE_CHANGED {"old_state":"CLONED_INPUTS","new_state":"DRAFTING"}
WORK_ITEM_QUEUED {"work_item_id":"r1:writer:1:intro","worker":"writer","attempt":1,"scope_key":"intro","inputs":["a"],"outputs":["b"]}
WORK_ITEM_STARTED {"work_item_id":"r1:writer:1:intro"}
LLM_CALL_STARTED {"item":"r1:writer:1:intro","call_id":"writer.intro.1","model":"m1","provider_base_url":"https://models.example/v1","prompt_hash":"a3f2","temperature":0.5,"max_tokens":4096}
LLM_CALL_FINISHED {"item":"r1:writer:1:intro","call_id":"writer.intro.1","latency_ms":70,"token_usage":{"input_tokens":1500,"output_tokens":30,"total_tokens":1530},"finish_reason":"stop","output_hash":"b9e1","api_cost_usd":0.0495}
LLM_CALL_STARTED {"item":"r1:writer:1:intro","call_id":"writer.intro.2","model":"m1","provider_base_url":"","prompt_hash":"a3f3","temperature":0,"max_tokens":1}
RESUME_REWIND {"from_state":"DRAFTING","to_state":"PLAN_READY"}
RUN_STATE_CHANGED {"old_state":"DRAFTING","new_state":"PLAN_READY","reason":"RESUME_REWIND"}
WORK_ITEM_FAILED {"work_item_id":"r1:writer:1:intro","error":{"code":"INTERRUPTED","message":"the process that did it ended"},"retryable":true}
RUN_STATE_CHANGED {"old_state":"PLAN_READY","new_state":"DRAFTING"}
WORK_ITEM_QUEUED {"work_item_id":"r1:writer:2:intro","worker":"writer","attempt":2,"scope_key":"intro","inputs":["a"],"outputs":["b"]}
WORK_ITEM_STARTED {"work_item_id":"r1:writer:2:intro"}
LLM_CACHE_HIT {"item":"r1:writer:2:intro","call_id":"writer.intro.1","cache_key":"k","output_hash":"b9e1"}
LLM_CALL_STARTED {"item":"r1:writer:2:intro","call_id":"writer.intro.2","model":"m1","provider_base_url":"","prompt_hash":"a3f3","temperature":0,"max_tokens":1}
LLM_CALL_FAILED {"item":"r1:writer:2:intro","call_id":"writer.intro.2","latency_ms":99,"error_class":"PROVIDER_RATE_LIMIT","error_summary":"slow down","error_details":"at once","retryable":true,"http_status":429}
WORK_ITEM_FAILED {"work_item_id":"r1:writer:2:intro","error":{"code":"TIMEOUT","message":"it took longer than 1s"},"retryable":false}
RUN_STATE_CHANGED {"old_state":"DRAFTING","new_state":"VALIDATING"}
GATE_RUN_STARTED {"gate":"links"}
GATE_RUN_FINISHED {"gate":"links","ok":false,"issues":["i1"]}
RUN_STATE_CHANGED {"old_state":"VALIDATING","new_state":"FIXING"}
RUN_STATE_CHANGED {"old_state":"FIXING","new_state":"VALIDATING"}
GATE_RUN_STARTED {"gate":"links"}
RUN_FAILED {"code":"NO_PROGRESS","message":"gate links: still there"}
RUN_STATE_CHANGED {"old_state":"VALIDATING","new_state":"FAILED"}
RUN_REOPENED {}
RUN_STATE_CHANGED {"old_state":"FAILED","new_state":"DRAFT_READY","reason":"RUN_REOPENED"}
GATE_RUN_STARTED {"gate":"links"}
GATE_RUN_FINISHED {"gate":"links","ok":true,"issues":[]}
WORK_ITEM_QUEUED {"work_item_id":"r1:publish:1:all","worker":"publish","attempt":1,"scope_key":"all","inputs":[],"outputs":[]}
WORK_ITEM_STARTED {"work_item_id":"r1:publish:1:all"}
WORK_ITEM_FAILED {"work_item_id":"r1:publish:1:all","error":{"code":"INTERRUPTED","message":"the process that did it ended"},"retryable":true}
PR_OPENED {"url":"https://example.org/pull/1"}
RUN_COMPLETED {}
RUN_STATE_CHANGED {"old_state":"PR_OPENED","new_state":"DONE"}
`

const drawn = `r1 failure 1000ms (INTERRUPTED: the process ended)
  orchestrator_node-CREATED-a1 success 400ms
    r1-worker-clone:all-a1 success 200ms
  orchestrator_node-CLONED_INPUTS-a1 success 100ms
  orchestrator_node-DRAFTING-a1 failure 500ms (INTERRUPTED: the process ended)
    r1-worker-writer:intro-a1 failure 300ms (INTERRUPTED: the process that did it ended)
      r1-llm_call-writer.intro.1-a1 success 70ms
      r1-llm_call-writer.intro.2-a1 failure 0ms (INTERRUPTED: the process ended)
r1-l2 failure 1700ms (NO_PROGRESS: gate links: still there)
  orchestrator_node-PLAN_READY-a1 success 200ms
  orchestrator_node-DRAFTING-a1 success 700ms
    r1-l2-worker-writer:intro-a2 timeout 400ms (TIMEOUT: it took longer than 1s)
      r1-l2-llm_call-writer.intro.1-a2 success 0ms
      r1-l2-llm_call-writer.intro.2-a2 failure 99ms (PROVIDER_RATE_LIMIT: slow down)
  orchestrator_node-VALIDATING-a1 success 300ms
    r1-l2-gate-links-a1 failure 100ms (GATE_FAILED: 1 open issue)
  orchestrator_node-FIXING-a1 success 100ms
  orchestrator_node-VALIDATING-a2 failure 300ms (NO_PROGRESS: gate links: still there)
    r1-l2-gate-links-a2 failure 200ms (INTERRUPTED: the run ended before it)
  orchestrator_node-FAILED-a1 failure 0ms
r1-l3 failure 500ms (INTERRUPTED: the process ended)
  orchestrator_node-DRAFT_READY-a1 failure 400ms (INTERRUPTED: the process ended)
    r1-l3-gate-links-a1 success 100ms
    r1-l3-worker-publish:all-a1 failure 0ms (INTERRUPTED: the process that did it ended)
r1-l4 success 300ms
  orchestrator_node-DRAFT_READY-a1 success 300ms
  orchestrator_node-DONE-a1 success 0ms
`

func follows(t *testing.T, events []run.Event) (*service, *telemetry.Follow) {
	t.Helper()
	f, s := &telemetry.Follow{}, newService()
	for i, e := range events {
		if err := s.take(f.Next(e)...); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if err := s.check(); err != nil {
			t.Fatalf("after event %d: %v", i, err)
		}
	}
	return s, f
}

func TestAStoryOfFourLaunches(t *testing.T) {
	events := log(t, story)
	s, f := follows(t, events)
	if got := s.tree(); got != drawn {
		t.Errorf("got\n%s\nwant\n%s", got, drawn)
	}
	testkit.OK(t, bound(events, s))
	if f.Launch() != "r1-l4" {
		t.Errorf("launch %s", f.Launch())
	}
	// However far it was followed before, the records are the same.
	for n := range events {
		s, _ := follows(t, events[:n])
		var again telemetry.Follow
		for i, e := range events {
			if err := s.take(again.Next(e)...); err != nil {
				t.Fatalf("resent after %d, event %d: %v", n, i, err)
			}
		}
		if got := s.tree(); got != drawn {
			t.Fatalf("resent after %d events\n%s", n, got)
		}
	}
}

func TestTheFieldsOfACall(t *testing.T) {
	events := log(t, story)
	s, _ := follows(t, events)
	find := func(runID string) telemetry.Record { return s.records[s.runIDs[runID]] }
	call, started := find("r1-llm_call-writer.intro.1-a1"), events[9]
	same(t, "context", string(call.Context), `{"call_id":"writer.intro.1","evidence_path":"evidence/llm_calls/writer.intro.1.a1.json","max_tokens":4096,"model":"m1","parent_span_id":"`+
		started.ParentSpan+`","prompt_hash":"a3f2","provider_base_url":"https://models.example/v1","span_id":"`+started.SpanID+`","temperature":0.5,"trace_id":"`+started.TraceID+`"}`)
	same(t, "metrics", string(call.Metrics), `{"api_cost_usd":0.0495,"finish_reason":"stop","input_tokens":1500,"output_tokens":30,"total_tokens":1530}`)
	same(t, "times", fmt.Sprint(call.StartTime.Sub(epoch), call.EndTime.Sub(epoch)), "900ms 1s")
	same(t, "agent", call.AgentName, "writer")
	if c := contextFollow(find("r1-llm_call-writer.intro.2-a1")); c["evidence_path"] != nil || c["call_id"] != "writer.intro.2" {
		t.Errorf("a call that was cut off has evidence: %v", c)
	}
	if c := contextFollow(find("r1-l2-llm_call-writer.intro.1-a2")); c["cached"] != true || c["cache_key"] != "k" || c["evidence_path"] == nil {
		t.Errorf("an answer of the cache: %v", c)
	}
	failed := find("r1-l2-llm_call-writer.intro.2-a2")
	same(t, "metrics of a failure", string(failed.Metrics), `{"error_class":"PROVIDER_RATE_LIMIT","finish_reason":"error","http_status":429,"retryable":true}`)
	same(t, "details of a failure", failed.ErrorDetails, "at once")
	first := find("r1")
	same(t, "launch", fmt.Sprint(first.Product, " ", first.GitRepo, " ", first.GitCommitHash, " ", first.ItemsDiscovered, first.ItemsSucceeded, first.ItemsFailed),
		"docs https://example.org/x.git 1ab51d6 2 1 0")
	same(t, "context of a launch", string(first.Context), `{"config_sha256":"c0ffee","launch":1,"span_id":"0000000000000001","trace_id":"`+started.TraceID+`"}`)
	same(t, "context of a worker", string(find("r1-worker-writer:intro-a1").Context), `{"attempt":1,"parent_span_id":"0000000000000007","queued_at":"2026-01-15T14:22:10.700000Z",`+
		`"scope_key":"intro","span_id":"`+started.ParentSpan+`","trace_id":"`+started.TraceID+`","work_item_id":"r1:writer:1:intro","worker":"writer"}`)
	same(t, "target", find("r1-l4").TargetRef, "https://example.org/pull/1")
	for _, body := range s.records {
		if text, _ := json.Marshal(body); strings.Contains(string(text), "secret") {
			t.Errorf("a password in %s", text)
		}
	}
}

func TestWhatOnlyTheProcessKnowsIsNoPartOfTheRecordsBody(t *testing.T) {
	events := log(t, story)
	f, s := &telemetry.Follow{}, newService()
	for i, e := range events {
		if i == 12 { // a second process goes on
			f = &telemetry.Follow{}
			for _, old := range events[:i] {
				f.Next(old)
			}
			f.Here(telemetry.RunAbout{Host: "two", Environment: "ci", TriggerType: "cli"})
		} else if i == 0 {
			f.Here(telemetry.RunAbout{Host: "one"})
		}
		testkit.OK(t, s.take(f.Next(e)...))
	}
	one, two := s.records[s.runIDs["r1"]], s.records[s.runIDs["r1-l2"]]
	same(t, "hosts", one.Host+" "+two.Host+" "+two.Environment+" "+two.TriggerType, "one two ci cli")
	same(t, "tree", s.tree(), drawn)
}

func TestAProcessThatStopsLeavesNoLaunchRunning(t *testing.T) {
	events := log(t, story)
	// Wherever it stops, nothing stays running.
	for n := 2; n < len(events); n++ {
		s, f := follows(t, events[:n])
		testkit.OK(t, s.take(f.Stop("BUDGET_EXCEEDED", "", epoch.Add(time.Hour))...))
		for _, r := range s.records {
			if r.Status == telemetry.Running {
				t.Errorf("stopped after %d events, and %s is running", n, r.RunID)
			}
		}
		for _, e := range events[n:] { // as if nothing had been
			testkit.OK(t, s.take(f.Next(e)...))
		}
	}
	s, f := follows(t, events[:6])
	testkit.OK(t, s.take(f.Stop("INTERRUPTED", "stopped by a signal", epoch.Add(time.Second))...))
	testkit.OK(t, s.check())
	r := s.records[s.runIDs["r1"]]
	same(t, "launch", fmt.Sprint(r.Status, " ", *r.DurationMS, " ", r.ErrorSummary), "cancelled 900 INTERRUPTED: stopped by a signal")
	// Another process goes on without a sign in the log: its end counts.
	for _, e := range events[6:] {
		testkit.OK(t, s.take(f.Next(e)...))
	}
	same(t, "tree", s.tree(), drawn)
	if got := f.Stop("FAILED", "", epoch); got != nil {
		t.Errorf("a launch that ended stopped: %s", got)
	}
	testkit.OK(t, s.take(f.Partial("3 deliveries could not be sent")...))
	same(t, "last launch", string(s.records[s.runIDs["r1-l4"]].Status), "partial")
}

func TestAForkBeginsWithItsOwnLaunch(t *testing.T) {
	s, _ := follows(t, log(t, `
RUN_FORKED {"parent_run_id":"r0","event_id":"00000000-0000-7000-8000-000000000001","event_hash":"00","event_count":3}
RESUME_REWIND {"from_state":"DRAFTING","to_state":"PLAN_READY"}
RUN_STATE_CHANGED {"old_state":"DRAFTING","new_state":"PLAN_READY","reason":"RESUME_REWIND"}
WORK_ITEM_INVALIDATED {"work_item_id":"r0:writer:1:intro"}
WORK_ITEM_FAILED {"work_item_id":"r0:writer:1:b","error":"broke","retryable":true}
`))
	same(t, "tree", s.tree(), `r1 running
  orchestrator_node-PLAN_READY-a1 running
    r1-worker-writer:b-a1 failure 0ms (FAILED: broke)
`)
	if c := contextFollow(s.records[s.runIDs["r1"]]); c["forked_from"] != "r0" {
		t.Errorf("context %v", c)
	}
}

func TestARunThatWasOnlyMadeIsNotLaunched(t *testing.T) {
	s, f := follows(t, log(t, story)[:1])
	if len(s.records) != 0 || f.Launch() != "" || f.Stop("FAILED", "", epoch) != nil || f.Partial("") != nil {
		t.Errorf("records %v", s.records)
	}
}

func TestATurnOutsideRuns(t *testing.T) {
	s := newService()
	turn, d := telemetry.BeginTurn(telemetry.TurnStart{Agent: "019b0000-0000-7000-8000-000000000001", Name: "bob", Key: "host.7/1/2026", Model: "script/m", At: epoch,
		Host: "h", TriggerType: "prompt"})
	begun := d[0].EventID
	d = append(d, turn.Call("9dfb1406", epoch.Add(2*time.Second), history.Call{Model: "script/m", Request: "abc", Outcome: "tool_calls",
		TookMS: 1500, Input: 10, Output: 5, CacheRead: 100, CacheWrite: 7, Cost: 1234567, Priced: true})...)
	d = append(d, turn.Call("9dfb1407", epoch.Add(3*time.Second), history.Call{Outcome: "PROVIDER_AUTH", TookMS: 9e15})...)
	d = append(d, turn.Call("9dfb1408", epoch.Add(-time.Second), history.Call{Outcome: "abandoned"})...)
	d = append(d, turn.End(epoch.Add(4*time.Second), "PROVIDER_AUTH", "no key")...)
	testkit.OK(t, s.take(d...))
	a := "agent-019b0000-0000-7000-8000-000000000001"
	same(t, "tree", strings.ReplaceAll(s.tree(), a, "A"), "A"+strings.TrimPrefix(s.records[begun].RunID, a)+` failure 4000ms (PROVIDER_AUTH: no key)
  A-llm_call-9dfb1407-a1 failure 1099511627776ms (PROVIDER_AUTH)
  A-llm_call-9dfb1408-a1 cancelled 0ms (CANCELLED: the client did not wait for the end)
  A-llm_call-9dfb1406-a1 success 1500ms
`)
	call := s.records[s.runIDs[a+"-llm_call-9dfb1406-a1"]]
	same(t, "metrics", string(call.Metrics), `{"api_cost_usd":0.001234567,"cache_read_tokens":100,"cache_write_tokens":7,"finish_reason":"tool_calls","input_tokens":117,"output_tokens":5,"total_tokens":122}`)
	worker, mine := s.records[begun], contextFollow(call)
	above := contextFollow(worker)
	if mine["trace_id"] != above["trace_id"] || mine["parent_span_id"] != above["span_id"] {
		t.Errorf("%v below %v", mine, above)
	}
	if turn.End(epoch, "", "") != nil {
		t.Error("a turn ended twice")
	}
	_, other := telemetry.BeginTurn(telemetry.TurnStart{Agent: "019b0000-0000-7000-8000-000000000001", Key: "host.7/2/2026", At: epoch})
	if err := s.take(other...); err != nil || s.records[other[0].EventID].RunID == s.records[begun].RunID {
		t.Fatal(err)
	}
}

// The bytes of a delivery are hashed by the service: they do not change with a version.
func TestTheBytesStay(t *testing.T) {
	var f telemetry.Follow
	var b strings.Builder
	for _, e := range log(t, story) {
		for _, d := range f.Next(e) {
			fmt.Fprintf(&b, "%s %s %s\n", d.Method, d.EventID, d.Body)
		}
	}
	const golden = "testdata/story.txt"
	want := testkit.Must(os.ReadFile(golden))(t)
	lines, wanted := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(lines), len(wanted)) {
		if lines[i] != wanted[i] {
			t.Fatalf("line %d of %s\n got %s\nwant %s", i+1, golden, lines[i], wanted[i])
		}
	}
	if len(lines) != len(wanted) {
		t.Errorf("%d lines, %s has %d", len(lines), golden, len(wanted))
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}
