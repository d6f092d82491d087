package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// step is an event to come: its type and payload.
type step struct {
	kind    run.Type
	payload string
}

// do is a step with the example's payload, or with another.
func do(kind run.Type, payload ...string) step {
	if len(payload) == 0 {
		return step{kind, runtest.Examples()[kind]}
	}
	return step{kind, payload[0]}
}

// to is the step into a state.
func to(from, to run.State, reason ...string) step {
	if len(reason) > 0 {
		return step{run.RunStateChanged, fmt.Sprintf(`{"new_state":"%s","old_state":"%s","reason":"%s"}`, to, from, reason[0])}
	}
	return step{run.RunStateChanged, fmt.Sprintf(`{"new_state":"%s","old_state":"%s"}`, to, from)}
}

// path walks from CREATED through the states named.
func path(states ...run.State) []step {
	var steps []step
	now := run.Created
	for _, next := range states {
		steps = append(steps, to(now, next))
		now = next
	}
	return steps
}

var toPlan = path(run.ClonedInputs, run.Ingested, run.FactsReady, run.PlanReady)

// replay applies the steps to a new run, after RUN_CREATED, and returns the error
// of the last.
func replay(t *testing.T, steps ...step) (run.Snapshot, error) {
	t.Helper()
	s := run.New(runtest.RunID)
	all := append([]step{do(run.RunCreated)}, steps...)
	for i, x := range all {
		d := runtest.Draft(i, x.kind, x.payload)
		testkit.OK(t, d.Check())
		next, err := runtest.Apply(s, d.Link(s.LastEventHash))
		if err != nil {
			if i < len(all)-1 {
				t.Fatalf("event %d, %s: %v", i, x.kind, err)
			}
			return s, err
		}
		s = next
	}
	return s, nil
}

func must(t *testing.T, steps ...step) run.Snapshot {
	t.Helper()
	s := testkit.Must(replay(t, steps...))(t)
	return s
}

// ts is the time of the nth event, RUN_CREATED being the first of number 0.
func ts(n int) string { return runtest.Draft(n, "", "").TS }

// each line of the source's replay algorithm

func TestRunCreatedInitialisesTheSnapshotWithIdAndTimes(t *testing.T) {
	s := must(t)
	if s.RunID != runtest.RunID || s.RunState != run.Created || s.CreatedAt != ts(0) || s.UpdatedAt != ts(0) || s.EventCount != 1 || len(s.LastEventHash) != 64 {
		t.Errorf("%+v", s)
	}
	text := testkit.Must(s.Encode())(t)
	for _, empty := range []string{`"artifacts": []`, `"work_items": []`, `"issues": []`, `"section_states": {}`, `"gates": []`, `"failure": null`, `"pr": null`} {
		if !strings.Contains(string(text), empty) {
			t.Errorf("the initial snapshot has no %s:\n%s", empty, text)
		}
	}
}

// What each type of event does to a new run, with <n> for the time of the nth event.
func TestWhatEventsAmountTo(t *testing.T) {
	write := func(name, path string) step {
		return do(run.ArtifactWritten, fmt.Sprintf(`{"name":"%s","path":"%s","schema_id":"s","sha256":"%s"}`, name, path, runtest.Sum))
	}
	gate := func(name string) step { return do(run.GateRunStarted, `{"gate":"`+name+`"}`) }
	queued, started, finished := do(run.WorkItemQueued), do(run.WorkItemStarted), do(run.WorkItemFinished)
	opened, resolved := do(run.IssueOpened), do(run.IssueResolved)
	another := do(run.IssueOpened, strings.Replace(opened.payload, `"i1"`, `"i2"`, 1))
	// The issue's own opened_at is no business of the snapshot.
	dated := do(run.IssueOpened, strings.Replace(strings.Replace(opened.payload, `"message":"no such page"`, `"message":""`, 1), `"severity"`, `"opened_at":7,"resolved_at":{},"severity"`, 1))
	for name, c := range map[string]struct {
		steps []step
		part  func(run.Snapshot) any
		want  string
	}{
		"a step": {[]step{to(run.Created, run.ClonedInputs)}, func(s run.Snapshot) any { return s.RunState + " " + run.State(s.CreatedAt+s.UpdatedAt) },
			`"CLONED_INPUTS <0><1>"`},
		"an artifact": {[]step{do(run.ArtifactWritten)}, func(s run.Snapshot) any { return s.Artifacts },
			`[{"name":"facts","path":"artifacts/facts.json","schema_id":"urn:facts:1","sha256":"SUM","ts":"<1>","writer_worker":"finder"}]`},
		"artifacts by name, the latest write of each": {[]step{write("m", "1"), write("z", "2"), write("a", "3"), write("m", "4")}, func(s run.Snapshot) any { return s.Artifacts },
			`[{"name":"a","path":"3","schema_id":"s","sha256":"SUM","ts":"<3>","writer_worker":null},{"name":"m","path":"4","schema_id":"s","sha256":"SUM","ts":"<4>","writer_worker":null},{"name":"z","path":"2","schema_id":"s","sha256":"SUM","ts":"<2>","writer_worker":null}]`},
		"an item queued": {[]step{queued}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":null,"finished_at":null,"idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":null,"path":"drafts/intro.md","sha256":null}],"retryable":null,"scope_key":"intro","started_at":null,"status":"pending","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"started": {[]step{queued, started}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":null,"finished_at":null,"idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":null,"path":"drafts/intro.md","sha256":null}],"retryable":null,"scope_key":"intro","started_at":"<2>","status":"in_progress","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"finished": {[]step{queued, started, finished}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":null,"finished_at":"<3>","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":"intro","path":"drafts/intro.md","sha256":"SUM"}],"retryable":null,"scope_key":"intro","started_at":"<2>","status":"completed","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"failed": {[]step{queued, started, do(run.WorkItemFailed)}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":{"code":"TIMEOUT","message":"took too long"},"finished_at":"<3>","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":null,"path":"drafts/intro.md","sha256":null}],"retryable":true,"scope_key":"intro","started_at":"<2>","status":"failed","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"failed with a bare message": {[]step{queued, do(run.WorkItemFailed, `{"error":"no","retryable":false,"work_item_id":"`+runtest.Item+`"}`)}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":{"code":"FAILED","message":"no"},"finished_at":"<2>","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":null,"path":"drafts/intro.md","sha256":null}],"retryable":false,"scope_key":"intro","started_at":null,"status":"failed","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"invalidated": {[]step{queued, started, finished, do(run.WorkItemInvalidated)}, func(s run.Snapshot) any { return s.WorkItems },
			`[{"attempt":1,"effect":"external","error":{"code":"INVALIDATED","message":"asked for"},"finished_at":"<3>","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"SUM"},{"name":null,"path":"plan.json","sha256":null}],"outputs":[{"name":"intro","path":"drafts/intro.md","sha256":"SUM"}],"retryable":true,"scope_key":"intro","started_at":"<2>","status":"failed","work_item_id":"20260115T142210Z-0a1b2c3d:writer:1:intro","worker":"writer"}]`},
		"an issue": {[]step{opened}, func(s run.Snapshot) any { return s.Issues },
			`[{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},"message":"no such page","opened_at":"<1>","resolved_at":null,"severity":"blocker","status":"OPEN","suggested_fix":"remove it"}]`},
		"resolved": {[]step{opened, resolved}, func(s run.Snapshot) any { return s.Issues },
			`[{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},"message":"no such page","opened_at":"<1>","resolved_at":"<2>","severity":"blocker","status":"RESOLVED","suggested_fix":"remove it"}]`},
		"come back, in its place": {[]step{opened, another, resolved, opened}, func(s run.Snapshot) any { return s.Issues },
			`[{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},"message":"no such page","opened_at":"<4>","resolved_at":null,"severity":"blocker","status":"OPEN","suggested_fix":"remove it"},{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i2","location":{"line":3},"message":"no such page","opened_at":"<2>","resolved_at":null,"severity":"blocker","status":"OPEN","suggested_fix":"remove it"}]`},
		"dated by its opener": {[]step{dated}, func(s run.Snapshot) any { return s.Issues },
			`[{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},"message":"","opened_at":"<1>","resolved_at":null,"severity":"blocker","status":"OPEN","suggested_fix":"remove it"}]`},
		"a gate": {[]step{do(run.GateRunStarted), do(run.GateRunFinished)}, func(s run.Snapshot) any { return s.Gates },
			`[{"finished_at":"<2>","issues":["i1"],"name":"links","ok":false,"runs":1,"started_at":"<1>"}]`},
		"a gate that looks again": {[]step{do(run.GateRunStarted), do(run.GateRunFinished), do(run.GateRunStarted)}, func(s run.Snapshot) any { return s.Gates },
			`[{"finished_at":null,"issues":[],"name":"links","ok":null,"runs":2,"started_at":"<3>"}]`},
		"gates by name": {[]step{gate("b"), gate("c"), gate("a")}, func(s run.Snapshot) any { return s.Gates },
			`[{"finished_at":null,"issues":[],"name":"a","ok":null,"runs":1,"started_at":"<3>"},{"finished_at":null,"issues":[],"name":"b","ok":null,"runs":1,"started_at":"<1>"},{"finished_at":null,"issues":[],"name":"c","ok":null,"runs":1,"started_at":"<2>"}]`},
		"a pull request": {[]step{do(run.PullRequestOpened, `{"bundle":"b"}`)}, func(s run.Snapshot) any { return s.PR },
			`{"bundle":"b","opened_at":"<1>","url":null}`},
	} {
		text := testkit.Must(json.Marshal(c.part(must(t, c.steps...))))(t)
		got := string(text)
		for n := range 6 {
			got = strings.ReplaceAll(got, ts(n), fmt.Sprintf("<%d>", n))
		}
		if got = strings.ReplaceAll(got, runtest.Sum, "SUM"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// failures

func TestAFailureKnowsTheStateItCameIn(t *testing.T) {
	drafting := append(toPlan[:4:4], to(run.PlanReady, run.Drafting))
	failed := to(run.Drafting, run.Failed, "no more")
	for name, steps := range map[string][]step{
		"event first":      {do(run.RunFailed), failed},
		"state first":      {failed, do(run.RunFailed)},
		"event alone":      {do(run.RunFailed)},
		"told twice":       {failed, do(run.RunFailed), do(run.RunFailed)},
		"before and after": {do(run.RunFailed), failed, do(run.RunFailed)},
	} {
		f := must(t, append(drafting[:5:5], steps...)...).Failure
		if f == nil || f.Code != "NO_PROGRESS" || f.FromState != run.Drafting {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := must(t, append(drafting[:5:5], failed)...).Failure; f.Code != "FAILED" || f.Message != "no more" || f.FromState != run.Drafting {
		t.Errorf("state alone: %+v", f)
	}
	if f := must(t, append(drafting[:5:5], do(run.RunCancelled), to(run.Drafting, run.Cancelled))...).Failure; f.Code != "CANCELLED" || f.Message != "asked for" {
		t.Errorf("cancelled: %+v", f)
	}
}

func TestAFailureIsForgottenWhenTheRunGoesOn(t *testing.T) {
	for name, steps := range map[string][]step{
		"reopened":         {do(run.RunFailed), to(run.Created, run.Failed), do(run.RunReopened), to(run.Failed, run.Created, run.ReasonReopen)},
		"it did not fail":  {do(run.RunFailed), to(run.Created, run.ClonedInputs)},
		"nor was it ended": {do(run.RunCancelled), to(run.Created, run.ClonedInputs)},
	} {
		if s := must(t, steps...); s.Failure != nil {
			t.Errorf("%s: %+v", name, s.Failure)
		}
	}
}

func TestAFailedRunReopensWhereItFailedAndNotFurtherOn(t *testing.T) {
	drafted := append(toPlan[:4:4], to(run.PlanReady, run.Drafting), to(run.Drafting, run.Failed))
	for _, state := range run.States() {
		_, err := replay(t, append(drafted[:6:6], to(run.Failed, state, run.ReasonReopen))...)
		if want := state == run.PlanReady || state == run.Created; (err == nil) != want {
			t.Errorf("to %s: %v", state, err)
		} else if err != nil && (!fault.Is(err, fault.InvalidStateTransition) || !strings.Contains(err.Error(), "PLAN_READY")) {
			t.Errorf("to %s: %v", state, err)
		}
	}
}

// what does not fit

func TestIllegalEventsAreRefused(t *testing.T) {
	done := append(toPlan[:4:4], to(run.PlanReady, run.Drafting), to(run.Drafting, run.DraftReady), to(run.DraftReady, run.Linking),
		to(run.Linking, run.Validating), to(run.Validating, run.ReadyForPR), to(run.ReadyForPR, run.PROpened), to(run.PROpened, run.Done))
	failed := []step{to(run.Created, run.Failed)}
	cancelled := []step{to(run.Created, run.Cancelled)}
	queued, started, finished := do(run.WorkItemQueued), do(run.WorkItemStarted), do(run.WorkItemFinished)
	fork := func(count int, parent string) string {
		return fmt.Sprintf(`{"event_count":%d,"event_hash":"%s","event_id":"00000000-0000-7000-8000-000000000001","parent_run_id":"%s"}`, count, runtest.Sum, parent)
	}
	for _, c := range []struct {
		name   string
		before []step
		event  step
		code   fault.Code
	}{
		{"created twice", nil, do(run.RunCreated), fault.InvalidEvent},
		{"started, never queued", nil, started, fault.InvalidEvent},
		{"finished, never queued", nil, finished, fault.InvalidEvent},
		{"queued twice", []step{queued}, queued, fault.InvalidEvent},
		{"queued under another id", nil, do(run.WorkItemQueued, strings.Replace(queued.payload, runtest.Item, "x", 1)), fault.InvalidEvent},
		{"queued for a worker with a colon", nil, do(run.WorkItemQueued, strings.ReplaceAll(queued.payload, "writer", "wri:ter")), fault.InvalidEvent},
		{"started twice", []step{queued, started}, started, fault.InvalidStateTransition},
		{"finished, not started", []step{queued}, finished, fault.InvalidStateTransition},
		{"finished twice", []step{queued, started, finished}, finished, fault.InvalidStateTransition},
		{"failed after it was finished", []step{queued, started, finished}, do(run.WorkItemFailed), fault.InvalidStateTransition},
		{"invalidated, not finished", []step{queued, started}, do(run.WorkItemInvalidated), fault.InvalidStateTransition},
		{"gate finished, not started", nil, do(run.GateRunFinished), fault.InvalidEvent},
		{"gate finished twice", []step{do(run.GateRunStarted), do(run.GateRunFinished)}, do(run.GateRunFinished), fault.InvalidEvent},
		{"issue opened twice", []step{do(run.IssueOpened)}, do(run.IssueOpened), fault.InvalidEvent},
		{"issue opened as resolved", nil, do(run.IssueOpened, strings.Replace(runtest.Examples()[run.IssueOpened], "OPEN", "RESOLVED", 1)), fault.InvalidEvent},
		{"issue resolved, not opened", nil, do(run.IssueResolved), fault.InvalidEvent},
		{"issue resolved twice", []step{do(run.IssueOpened), do(run.IssueResolved)}, do(run.IssueResolved), fault.InvalidEvent},
		{"completed at the beginning", nil, do(run.RunCompleted), fault.InvalidStateTransition},
		{"failed after it was done", done, do(run.RunFailed), fault.InvalidStateTransition},
		{"cancelled after it was done", done, do(run.RunCancelled), fault.InvalidStateTransition},
		{"completed after it failed", failed, do(run.RunCompleted), fault.InvalidStateTransition},
		{"failed after it was cancelled", cancelled, do(run.RunFailed), fault.InvalidStateTransition},
		{"work after the end", done, queued, fault.InvalidStateTransition},
		{"artifact after the end", failed, do(run.ArtifactWritten), fault.InvalidStateTransition},
		{"model call after the end", failed, do(run.LLMCallStarted), fault.InvalidStateTransition},
		{"reopened while it goes on", nil, do(run.RunReopened), fault.InvalidStateTransition},
		{"reopened after it was done", done, do(run.RunReopened), fault.InvalidStateTransition},
		{"reopened after it was cancelled", cancelled, do(run.RunReopened), fault.InvalidStateTransition},
		{"rewound from where it is not", nil, do(run.ResumeRewind), fault.InvalidStateTransition},
		{"rewound to where it does not go", append(toPlan[:4:4], to(run.PlanReady, run.Drafting)),
			do(run.ResumeRewind, `{"from_state":"DRAFTING","to_state":"FACTS_READY"}`), fault.InvalidStateTransition},
		{"rewound from the beginning", nil, do(run.ResumeRewind, `{"from_state":"CREATED","to_state":"CREATED"}`), fault.InvalidStateTransition},
		{"forked from itself", nil, do(run.RunForked, fork(1, runtest.RunID)), fault.InvalidEvent},
	} {
		before := must(t, c.before...)
		want := testkit.Must(before.Encode())(t)
		after, err := replay(t, append(c.before[:len(c.before):len(c.before)], c.event)...)
		if !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
		if got, err := after.Encode(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the snapshot changed (%v)\n%s\n%s", c.name, err, got, want)
		}
	}
}

func TestARunBeginsWithItsOwnCreation(t *testing.T) {
	s := run.New(runtest.RunID)
	if _, err := runtest.Apply(s, runtest.Draft(0, run.GateRunStarted, `{"gate":"g"}`).Link("")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("another type first: %v", err)
	}
	other := runtest.Draft(0, run.RunCreated, runtest.Examples()[run.RunCreated])
	other.RunID = "other"
	if _, err := runtest.Apply(s, other.Link("")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("another run's event: %v", err)
	}
	named := runtest.Draft(0, run.RunCreated, `{"config_sha256":"`+runtest.Sum+`","run_id":"other"}`)
	if _, err := runtest.Apply(s, named.Link("")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("another run's name: %v", err)
	}
}

func TestTypesFromANewerVersionAreKeptAndNotReduced(t *testing.T) {
	before := must(t, do(run.GateRunStarted))
	after := must(t, do(run.GateRunStarted), do("FROM_A_NEWER_VERSION", `{"run_state":"DONE"}`))
	if after.EventCount != before.EventCount+1 || after.LastEventHash == before.LastEventHash || after.UpdatedAt != ts(2) {
		t.Errorf("it does not count: %+v", after)
	}
	after.EventCount, after.LastEventHash, after.UpdatedAt = before.EventCount, before.LastEventHash, before.UpdatedAt
	if fmt.Sprintf("%+v", after.RunState) != fmt.Sprintf("%+v", before.RunState) || len(after.Gates) != len(before.Gates) {
		t.Errorf("it was reduced: %+v", after)
	}
	if _, err := replay(t, to(run.Created, run.Cancelled), do("FROM_A_NEWER_VERSION", `{}`)); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestAForkGoesOnFromItsParentUnderItsOwnName(t *testing.T) {
	parent := must(t, do(run.WorkItemQueued), to(run.Created, run.ClonedInputs))
	fork := func(count int64, hash, name string) (run.Snapshot, error) {
		payload := fmt.Sprintf(`{"event_count":%d,"event_hash":"%s","event_id":"00000000-0000-7000-8000-000000000001","parent_run_id":"%s"}`, count, hash, name)
		d := runtest.Draft(9, run.RunForked, payload)
		d.RunID = "child"
		return runtest.Apply(parent, d.Link(hash))
	}
	s, err := fork(parent.EventCount, parent.LastEventHash, runtest.RunID)
	if err != nil || s.RunID != "child" || s.RunState != run.ClonedInputs || s.EventCount != 4 || len(s.WorkItems) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, try := range map[string]func() (run.Snapshot, error){
		"another count":  func() (run.Snapshot, error) { return fork(2, parent.LastEventHash, runtest.RunID) },
		"another hash":   func() (run.Snapshot, error) { return fork(3, runtest.Sum, runtest.RunID) },
		"another parent": func() (run.Snapshot, error) { return fork(3, parent.LastEventHash, "other") },
	} {
		if _, err := try(); !fault.Is(err, fault.InvalidEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The parent's events end where the fork begins.
	if _, err := runtest.Apply(s, runtest.Draft(10, run.GateRunStarted, `{"gate":"g"}`).Link("")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("the parent goes on in the fork: %v", err)
	}
}

func TestTheZeroSnapshotTakesEventsToo(t *testing.T) {
	d := runtest.Draft(1, run.SectionStateChanged, runtest.Examples()[run.SectionStateChanged])
	s := run.Snapshot{RunID: runtest.RunID, RunState: run.Created, EventCount: 1}
	testkit.Must(runtest.Apply(s, d.Link("")))(t)
	if _, err := runtest.Apply(run.Snapshot{}, d.Link("")); err == nil {
		t.Error("the run of no name takes events")
	}
}

// The form of a payload is checked before an event is applied; where that was left out, no event is lost silently.
func TestAPayloadOfAnotherFormIsRefused(t *testing.T) {
	unread := []run.Type{run.RunCreated, run.RunCompleted, run.LLMCallStarted, run.LLMCallFinished, run.LLMCallFailed, run.LLMCacheHit, run.InputsCloned} // nothing is taken from these
	for kind := range runtest.Examples() {
		if slices.Contains(unread, kind) {
			continue
		}
		r := run.NewReducer(must(t))
		if err := r.Apply(run.Event{ID: "x", RunID: runtest.RunID, Type: kind, Payload: []byte("7")}); err == nil {
			t.Errorf("%s is applied", kind)
		}
	}
}
