package run_test

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// carryOut is what a resume appends before work begins.
func carryOut(s run.Snapshot, p run.Plan) []step {
	var steps []step
	switch {
	case p.Reopen:
		steps = append(steps, do(run.RunReopened), to(p.From, p.Resume, run.ReasonReopen))
	case p.Rewind:
		reason := run.ReasonRewind
		if p.Resume == run.Created {
			reason = run.ReasonForce
		}
		steps = append(steps, do(run.ResumeRewind, fmt.Sprintf(`{"from_state":"%s","to_state":"%s"}`, p.From, p.Resume)), to(p.From, p.Resume, reason))
	}
	status := map[string]run.Status{}
	for _, w := range s.WorkItems {
		status[w.WorkItemID] = w.Status
	}
	for _, d := range p.Discard {
		steps = append(steps, do(run.WorkItemFailed, fmt.Sprintf(`{"error":{"code":"INTERRUPTED","message":""},"retryable":true,"work_item_id":"%s"}`, d.WorkItemID)))
	}
	for _, q := range p.Queue {
		old := run.ItemID(s.RunID, q.Worker, q.Attempt-1, q.ScopeKey)
		if status[old] == run.Completed {
			steps = append(steps, do(run.WorkItemInvalidated, fmt.Sprintf(`{"work_item_id":"%s"}`, old)))
		}
		if _, waiting := status[q.WorkItemID]; !waiting {
			steps = append(steps, do(run.WorkItemQueued, fmt.Sprintf(`{"attempt":%d,"inputs":[],"outputs":[],"scope_key":"%s","work_item_id":"%s","worker":"%s"}`,
				q.Attempt, q.ScopeKey, q.WorkItemID, q.Worker)))
		}
	}
	return steps
}

// in is a run in a state, reached by legal steps; FAILED and CANCELLED from
// CREATED.
func in(t *testing.T, state run.State, more ...step) run.Snapshot {
	t.Helper()
	order := []run.State{run.ClonedInputs, run.Ingested, run.FactsReady, run.PlanReady, run.Drafting, run.DraftReady, run.Linking, run.Validating}
	var states []run.State
	for _, s := range order {
		if state == run.Created || len(states) > 0 && states[len(states)-1] == state {
			break
		}
		states = append(states, s)
	}
	switch state {
	case run.Fixing:
		states = append(states, run.Fixing)
	case run.ReadyForPR:
		states = append(states, run.ReadyForPR)
	case run.PROpened:
		states = append(states, run.ReadyForPR, run.PROpened)
	case run.Done:
		states = append(states, run.ReadyForPR, run.PROpened, run.Done)
	case run.Failed, run.Cancelled:
		states = []run.State{state}
	}
	s := must(t, append(path(states...), more...)...)
	if s.RunState != state {
		t.Fatalf("it is %s, not %s", s.RunState, state)
	}
	return s
}

const (
	otherSum  = "5b768359d0ebffcbd2a61b95fcfc57e5680ff115be7668db82836ff18b32cebd"
	inputPath = "artifacts/facts.json"
	outPath   = "drafts/intro.md"
	secondTry = runtest.RunID + ":writer:2:intro"
)

// intact is a disk that holds what the examples say.
func intact(path string) (string, bool) {
	return runtest.Sum, path == inputPath || path == outPath || path == "plan.json"
}

// except is that disk with one file changed; with none if sum is empty.
func except(path, sum string) run.Disk {
	return func(p string) (string, bool) {
		if p == path {
			return sum, sum != ""
		}
		return intact(p)
	}
}

func TestAResumeGoesOnFromTheLastStableState(t *testing.T) {
	for _, c := range []struct {
		state, resume run.State
		rewind        bool
	}{
		{run.Created, run.Created, false},
		{run.ClonedInputs, run.ClonedInputs, false},
		{run.Ingested, run.Ingested, false},
		{run.FactsReady, run.FactsReady, false},
		{run.PlanReady, run.PlanReady, false},
		{run.DraftReady, run.DraftReady, false},
		{run.ReadyForPR, run.ReadyForPR, false},
		{run.PROpened, run.PROpened, false},
		{run.Drafting, run.PlanReady, true},
		{run.Linking, run.DraftReady, true},
		{run.Validating, run.DraftReady, true},
		{run.Fixing, run.DraftReady, true},
	} {
		p, err := run.PlanResume(in(t, c.state), intact, run.Wishes{})
		if err != nil || p.From != c.state || p.Resume != c.resume || p.Rewind != c.rewind || p.Reopen {
			t.Errorf("%s: %+v, %v", c.state, p, err)
		}
		forced, err := run.PlanResume(in(t, c.state), intact, run.Wishes{Force: true})
		if err != nil || forced.Resume != run.Created || forced.Rewind != (c.state != run.Created) || forced.Reopen {
			t.Errorf("%s, forced: %+v, %v", c.state, forced, err)
		}
	}
}

func TestWhatIsOverDoesNotResume(t *testing.T) {
	for _, c := range []struct {
		state  run.State
		wishes run.Wishes
		hint   string
	}{
		{run.Done, run.Wishes{}, "fork"},
		{run.Done, run.Wishes{Force: true, FromFailed: true}, "fork"},
		{run.Cancelled, run.Wishes{}, "fork"},
		{run.Cancelled, run.Wishes{Force: true, FromFailed: true}, "fork"},
		{run.Failed, run.Wishes{}, "--from-failed"},
		{run.Failed, run.Wishes{Force: true}, "--from-failed"},
	} {
		if _, err := run.PlanResume(in(t, c.state), intact, c.wishes); !fault.Is(err, fault.IllegalTransition) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s with %+v: %v", c.state, c.wishes, err)
		}
	}
}

func TestAFailedRunReopensAtTheStableStateBeforeTheFailure(t *testing.T) {
	for _, state := range run.States() {
		if state.Terminal() {
			continue
		}
		want := state
		if rewound, ok := state.RewindTo(); ok {
			want = rewound
		}
		s := in(t, state)
		s = testkit.Must(runtest.Apply(s, runtest.Draft(50, run.RunStateChanged, to(state, run.Failed).payload).Link(s.LastEventHash)))(t)
		p, err := run.PlanResume(s, intact, run.Wishes{FromFailed: true})
		if err != nil || p.From != run.Failed || p.Resume != want || !p.Reopen || p.Rewind {
			t.Errorf("failed in %s: %+v, %v", state, p, err)
		}
		forced, err := run.PlanResume(s, intact, run.Wishes{FromFailed: true, Force: true})
		if err != nil || forced.Resume != run.Created || !forced.Reopen || forced.Rewind {
			t.Errorf("failed in %s, forced: %+v, %v", state, forced, err)
		}
	}
}

func TestWhatHappensToEachWorkItem(t *testing.T) {
	external := runtest.Examples()[run.WorkItemQueued]
	keyless := strings.Replace(external, `"idempotency_key":"k1",`, ``, 1)
	local := strings.Replace(keyless, `"effect":"external",`, ``, 1)
	queued, started, finished := do(run.WorkItemQueued, local), do(run.WorkItemStarted), do(run.WorkItemFinished)
	failed := func(retryable bool) step {
		return do(run.WorkItemFailed, fmt.Sprintf(`{"error":"e","retryable":%v,"work_item_id":"%s"}`, retryable, runtest.Item))
	}
	completed := []step{queued, started, finished}
	redo := run.Wishes{Redo: []string{runtest.Item}}
	force := run.Wishes{Force: true}

	for _, c := range []struct {
		name   string
		steps  []step
		disk   run.Disk
		wishes run.Wishes
		want   string // skip, again, waits, discard, unknown: and a part of why
	}{
		{"completed and unchanged is skipped", completed, intact, run.Wishes{}, "skip unchanged"},
		{"completed, input changed, is done again", completed, except(inputPath, otherSum), run.Wishes{}, "again input artifacts/facts.json was changed"},
		{"completed, input missing, is done again", completed, except(inputPath, ""), run.Wishes{}, "again input artifacts/facts.json is missing"},
		{"completed, input without a hash missing, is done again", completed, except("plan.json", ""), run.Wishes{}, "again input plan.json is missing"},
		{"completed, input without a hash is there, is skipped", completed, except("plan.json", otherSum), run.Wishes{}, "skip unchanged"},
		{"completed, output changed, is done again", completed, except(outPath, otherSum), run.Wishes{}, "again output drafts/intro.md was changed"},
		{"completed, output missing, is done again", completed, except(outPath, ""), run.Wishes{}, "again output drafts/intro.md is missing"},
		{"completed is done again when asked", completed, intact, redo, "again asked for"},
		{"completed is done again when forced", completed, intact, force, "again asked for"},
		{"pending stays as it is", []step{queued}, intact, run.Wishes{}, "waits was waiting"},
		{"pending stays when asked", []step{queued}, intact, redo, "waits was waiting"},
		{"pending stays when forced", []step{queued}, intact, force, "waits was waiting"},
		{"interrupted is discarded and done again", []step{queued, started}, intact, run.Wishes{}, "discard interrupted"},
		{"external and interrupted is unknown; its key can be looked up", []step{do(run.WorkItemQueued, external), started}, intact, run.Wishes{}, "unknown look up the key k1"},
		{"external and interrupted without a key is unknown", []step{do(run.WorkItemQueued, keyless), started}, intact, run.Wishes{}, "unknown cannot be looked up"},
		{"external and interrupted is done again when asked", []step{do(run.WorkItemQueued, keyless), started}, intact, redo, "discard interrupted"},
		{"external and interrupted is done again when forced", []step{do(run.WorkItemQueued, external), started}, intact, force, "discard interrupted"},
		{"external and waiting is not a riddle", []step{do(run.WorkItemQueued, external)}, intact, run.Wishes{}, "waits was waiting"},
		{"failed, retryable, is done again", []step{queued, started, failed(true)}, intact, run.Wishes{}, "again failed before"},
		{"failed for good is skipped", []step{queued, started, failed(false)}, intact, run.Wishes{}, "skip for good"},
		{"failed for good is done again when asked", []step{queued, started, failed(false)}, intact, redo, "again failed before"},
		{"failed for good is done again when forced", []step{queued, started, failed(false)}, intact, force, "again failed before"},
		{"invalidated is done again", append(completed[:3:3], do(run.WorkItemInvalidated)), intact, run.Wishes{}, "again failed before"},
	} {
		s := in(t, run.PlanReady, append([]step{}, c.steps...)...)
		p, err := run.PlanResume(s, c.disk, c.wishes)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		verb, why, _ := strings.Cut(c.want, " ")
		var got string
		switch {
		case verb == "skip" && len(p.Skip) == 1 && len(p.Queue)+len(p.Discard)+len(p.Unknown) == 0 && p.Skip[0].WorkItemID == runtest.Item:
			got = p.Skip[0].Why
		case verb == "waits" && len(p.Queue) == 1 && len(p.Skip)+len(p.Discard)+len(p.Unknown) == 0 && p.Queue[0].WorkItemID == runtest.Item && p.Queue[0].Attempt == 1:
			got = p.Queue[0].Why
		case verb == "unknown" && len(p.Unknown) == 1 && len(p.Skip)+len(p.Discard)+len(p.Queue) == 0 && p.Unknown[0].WorkItemID == runtest.Item:
			got = p.Unknown[0].Why
		case (verb == "again" && len(p.Discard) == 0 || verb == "discard" && len(p.Discard) == 1 && p.Discard[0].WorkItemID == runtest.Item) &&
			len(p.Queue) == 1 && len(p.Skip)+len(p.Unknown) == 0 && p.Queue[0].WorkItemID == secondTry && p.Queue[0].Attempt == 2:
			got = p.Queue[0].Why
		default:
			t.Errorf("%s: %+v", c.name, p)
			continue
		}
		if !strings.Contains(got, why) {
			t.Errorf("%s: because %q", c.name, got)
		}
	}
}

func TestOnlyTheLatestAttemptCounts(t *testing.T) {
	first := strings.NewReplacer(`"effect":"external",`, ``, `"idempotency_key":"k1",`, ``).Replace(runtest.Examples()[run.WorkItemQueued])
	second := strings.NewReplacer(`"attempt":1`, `"attempt":2`, runtest.Item, secondTry).Replace(first)
	steps := []step{do(run.WorkItemQueued, first), do(run.WorkItemStarted), do(run.WorkItemFailed), do(run.WorkItemQueued, second),
		do(run.WorkItemStarted, `{"work_item_id":"`+secondTry+`"}`)}
	p, err := run.PlanResume(in(t, run.PlanReady, steps...), intact, run.Wishes{})
	if err != nil || len(p.Queue) != 1 || p.Queue[0].Attempt != 3 || len(p.Discard) != 1 || p.Discard[0].WorkItemID != secondTry {
		t.Errorf("%+v, %v", p, err)
	}
	// The name of an old attempt, which was told to people, means the item.
	if p, err := run.PlanResume(in(t, run.PlanReady, steps...), intact, run.Wishes{Redo: []string{runtest.Item}}); err != nil || len(p.Queue) != 1 || p.Queue[0].Attempt != 3 {
		t.Errorf("redo of an old attempt: %+v %v", p, err)
	}
}

func TestRedoOfAnUnknownItemIsRefusedByName(t *testing.T) {
	for range 20 { // of several, always the first is named
		_, err := run.PlanResume(in(t, run.PlanReady), intact, run.Wishes{Redo: []string{"first", "second", "third"}})
		if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `"first"`) {
			t.Fatal(err)
		}
	}
}

func TestArtifactsThatAreNotWhatTheLogSaysAreListed(t *testing.T) {
	s := in(t, run.PlanReady, do(run.ArtifactWritten))
	for name, c := range map[string]struct {
		disk run.Disk
		want string
	}{
		"unchanged": {intact, "[]"},
		"changed":   {except(inputPath, otherSum), "[{facts artifacts/facts.json was changed}]"},
		"missing":   {except(inputPath, ""), "[{facts artifacts/facts.json is missing}]"},
	} {
		p, err := run.PlanResume(s, c.disk, run.Wishes{})
		if err != nil || fmt.Sprint(p.Artifacts) != c.want {
			t.Errorf("%s: %v, %v", name, p.Artifacts, err)
		}
	}
}

// Names that are told to people are understood: without the run, and of earlier attempts.
func TestPrintedNamesAreUnderstood(t *testing.T) {
	s := run.New("r1")
	s.RunState = run.Drafting
	s.WorkItems = []run.Item{{WorkItemID: "r1:push:1:all", Worker: "push", ScopeKey: "all", Attempt: 1, Status: run.ItemFailed},
		{WorkItemID: "r1:push:2:all", Worker: "push", ScopeKey: "all", Attempt: 2, Status: run.ItemSkipped}, {WorkItemID: "r0:draft:1:a:b", Worker: "draft", ScopeKey: "a:b", Attempt: 1, Status: run.ItemSkipped}}
	nothing := func(string) (string, bool) { return "", false }
	for _, name := range []string{"push:2:all", "push:1:all", "r1:push:2:all", "r1:push:1:all", "draft:1:a:b", "r0:draft:1:a:b"} {
		p, err := run.PlanResume(s, nothing, run.Wishes{Redo: []string{name}})
		if err != nil || len(p.Queue) != 1 {
			t.Errorf("%s: %+v %v", name, p.Queue, err)
		}
	}
	for _, name := range []string{"push:3:all", "push:0:all", "push:x:all", "push:1", "push", "", "r2:push:1:all", "draft:1:a"} {
		if _, err := run.PlanResume(s, nothing, run.Wishes{Redo: []string{name}}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An effect that its recipe can look up is no unknown outcome.
func TestAnEffectThatIsLookedUpGoesOn(t *testing.T) {
	s := run.New("r1")
	s.RunState = run.Drafting
	effect := run.EffectExternal
	s.WorkItems = []run.Item{{WorkItemID: "r1:push:1:all", Worker: "push", ScopeKey: "all", Attempt: 1, Status: run.InProgress, Effect: &effect}}
	nothing := func(string) (string, bool) { return "", false }
	p, err := run.PlanResume(s, nothing, run.Wishes{})
	if err != nil || len(p.Unknown) != 1 {
		t.Errorf("%+v %v", p, err)
	}
	p, err = run.PlanResume(s, nothing, run.Wishes{LooksUp: func(worker string) bool { return worker == "push" }})
	if err != nil || len(p.Unknown) != 0 || len(p.Discard) != 1 || len(p.Queue) != 1 {
		t.Errorf("%+v %v", p, err)
	}
}
