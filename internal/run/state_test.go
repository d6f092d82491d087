package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit/runtest"
)

// drawing is the state machine as the specification draws it.
const drawing = `CREATED → CLONED_INPUTS → INGESTED → FACTS_READY → PLAN_READY → DRAFTING → DRAFT_READY → LINKING → VALIDATING
VALIDATING → FIXING → VALIDATING
VALIDATING → READY_FOR_PR → PR_OPENED → DONE`

// edges reads a drawing.
func edges(text string) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, line := range strings.Split(text, "\n") {
		states := strings.Split(strings.TrimSpace(line), " → ")
		for i := range len(states) - 1 {
			out[[2]string{states[i], states[i+1]}] = true
		}
	}
	return out
}

// change is an event that moves a run, applied to a snapshot in a state.
func change(from, old, to run.State, reason string) (run.Snapshot, error) {
	s := run.New(runtest.RunID)
	s.EventCount, s.RunState = 1, from
	payload := fmt.Sprintf(`{"new_state":"%s","old_state":"%s"}`, to, old)
	if reason != "" {
		payload = fmt.Sprintf(`{"new_state":"%s","old_state":"%s","reason":"%s"}`, to, old, reason)
	}
	return runtest.Apply(s, runtest.Draft(1, run.RunStateChanged, payload).Link(""))
}

func TestEveryEdgeOfARunIsLegalOrRefused(t *testing.T) {
	forwards := edges(drawing)
	rewinds := edges("DRAFTING → PLAN_READY\nLINKING → DRAFT_READY\nVALIDATING → DRAFT_READY\nFIXING → DRAFT_READY")
	stable := []run.State{run.Created, run.ClonedInputs, run.Ingested, run.FactsReady, run.PlanReady, run.DraftReady, run.ReadyForPR, run.PROpened}
	over := []run.State{run.Done, run.Failed, run.Cancelled}
	if len(run.States()) != 15 {
		t.Fatalf("%d states", len(run.States()))
	}
	for _, reason := range []string{"", "any other", run.ReasonRewind, run.ReasonForce, run.ReasonReopen} {
		for _, from := range run.States() {
			for _, to := range run.States() {
				edge := [2]string{string(from), string(to)}
				ended := slices.Contains(over, from)
				want := forwards[edge] || !ended && (to == run.Failed || to == run.Cancelled)
				switch reason {
				case run.ReasonRewind:
					want = want || rewinds[edge]
				case run.ReasonForce:
					want = want || !ended && to == run.Created && from != run.Created
				case run.ReasonReopen:
					want = want || from == run.Failed && slices.Contains(stable, to)
				}
				s, err := change(from, from, to, reason)
				if (err == nil) != want {
					t.Errorf("%s → %s because of %q: %v, want legal: %v", from, to, reason, err, want)
				}
				if slices.Contains(from.Next(reason), to) != want {
					t.Errorf("Next of %s because of %q is %v", from, reason, from.Next(reason))
				}
				if err == nil {
					if s.RunState != to {
						t.Errorf("%s → %s went to %s", from, to, s.RunState)
					}
					continue
				}
				f, _ := fault.Of(err)
				if f == nil || f.Code != fault.InvalidStateTransition {
					t.Errorf("%s → %s: code %v", from, to, err)
					continue
				}
				for _, allowed := range from.Next(reason) {
					if !strings.Contains(f.Hint, string(allowed)) {
						t.Errorf("%s → %s: the hint does not name %s: %s", from, to, allowed, f.Hint)
					}
				}
			}
		}
	}
}

func TestEveryStateIsStableOrTransitionalOrTerminal(t *testing.T) {
	for states, is := range map[string]func(run.State) bool{
		"CREATED CLONED_INPUTS INGESTED FACTS_READY PLAN_READY DRAFT_READY READY_FOR_PR PR_OPENED": run.State.Stable,
		"DRAFTING LINKING VALIDATING FIXING": func(s run.State) bool { return !s.Stable() && !s.Terminal() },
		"DONE FAILED CANCELLED":              run.State.Terminal,
	} {
		for _, s := range run.States() {
			if want := slices.Contains(strings.Fields(states), string(s)); is(s) != want {
				t.Errorf("%s among %q: %v", s, states, !want)
			}
		}
	}
}

func TestAStepThatLeavesAnotherStateIsRefused(t *testing.T) {
	for _, now := range run.States() {
		for _, old := range run.States() {
			if _, err := change(now, old, run.Failed, ""); (err == nil) != (now == old && !now.Terminal()) {
				t.Errorf("a run that is %s, an event that leaves %s: %v", now, old, err)
			}
		}
	}
}

func TestEveryEdgeOfASectionIsLegalOrRefused(t *testing.T) {
	legal := edges(`NOT_STARTED → OUTLINED → DRAFTED → MERGED_IN_WORKTREE → DONE
		DONE → MERGED_IN_WORKTREE → DRAFTED → OUTLINED
		NOT_STARTED → BLOCKED → OUTLINED → BLOCKED
		DRAFTED → BLOCKED → DRAFTED
		MERGED_IN_WORKTREE → BLOCKED → MERGED_IN_WORKTREE`)
	for _, from := range run.SectionStates() {
		for _, to := range run.SectionStates() {
			s := run.New(runtest.RunID)
			s.EventCount = 1
			if from != run.NotStarted {
				s.SectionStates["intro"] = from
			}
			payload := fmt.Sprintf(`{"new_state":"%s","old_state":"%s","section":"intro"}`, to, from)
			after, err := runtest.Apply(s, runtest.Draft(1, run.SectionStateChanged, payload).Link(""))
			want := legal[[2]string{string(from), string(to)}]
			if (err == nil) != want || want && after.SectionStates["intro"] != to {
				t.Errorf("section %s → %s: %v, want legal: %v", from, to, err, want)
			}
			if err != nil && (!fault.Is(err, fault.InvalidStateTransition) || !strings.Contains(err.Error(), "allowed from "+string(from))) {
				t.Errorf("section %s → %s: %v", from, to, err)
			}
		}
	}
}

func TestASectionLeavesTheStateItIsIn(t *testing.T) {
	s := run.New(runtest.RunID)
	s.EventCount = 1
	_, err := runtest.Apply(s, runtest.Draft(1, run.SectionStateChanged, `{"new_state":"DRAFTED","old_state":"OUTLINED","section":"intro"}`).Link(""))
	if !fault.Is(err, fault.InvalidStateTransition) {
		t.Errorf("got %v", err)
	}
}

// The way of a section is legal, as short as any, and empty only if there is none; no section is blocked on it.
func TestSectionPathIsTheShortestLegalWay(t *testing.T) {
	legal := func(from, to run.SectionState) bool { return len(run.SectionPath(from, to)) == 1 }
	for _, from := range run.SectionStates() {
		for _, to := range run.SectionStates() {
			path := run.SectionPath(from, to)
			switch reachable := to != run.NotStarted; {
			case from == to || !reachable:
				if len(path) != 0 {
					t.Errorf("%s → %s: %v", from, to, path)
				}
				continue
			case len(path) == 0 || path[len(path)-1] != to:
				t.Errorf("%s → %s: %v", from, to, path)
				continue
			}
			at := from
			for i, next := range path {
				if !legal(at, next) || next == run.Blocked && i < len(path)-1 {
					t.Errorf("%s → %s: %v", from, to, path)
				}
				at = next
			}
			for _, by := range run.SectionStates() {
				if by != run.Blocked && by != from && by != to && len(path) > 2 && legal(from, by) && legal(by, to) {
					t.Errorf("%s → %s: %v is longer than by %s", from, to, path, by)
				}
			}
		}
	}
	if got := run.SectionPath(run.NotStarted, run.Validated); len(got) != 4 {
		t.Errorf("%v", got)
	}
}
