package run

import (
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// State of a run.
type State string

// The states of a run, in the order of an undisturbed one.
const (
	Created      State = "CREATED"
	ClonedInputs State = "CLONED_INPUTS"
	Ingested     State = "INGESTED"
	FactsReady   State = "FACTS_READY"
	PlanReady    State = "PLAN_READY"
	Drafting     State = "DRAFTING"
	DraftReady   State = "DRAFT_READY"
	Linking      State = "LINKING"
	Validating   State = "VALIDATING"
	Fixing       State = "FIXING"
	ReadyForPR   State = "READY_FOR_PR"
	PROpened     State = "PR_OPENED"
	Done         State = "DONE"
	Failed       State = "FAILED"
	Cancelled    State = "CANCELLED"
)

var onwards = map[State][]State{
	Created: {ClonedInputs}, ClonedInputs: {Ingested}, Ingested: {FactsReady}, FactsReady: {PlanReady},
	PlanReady: {Drafting}, Drafting: {DraftReady}, DraftReady: {Linking}, Linking: {Validating},
	Validating: {Fixing, ReadyForPR}, Fixing: {Validating}, ReadyForPR: {PROpened}, PROpened: {Done},
}

// rewinds are the steps back that a resume may take.
var rewinds = map[State]State{Drafting: PlanReady, Linking: DraftReady, Validating: DraftReady, Fixing: DraftReady}

// The reasons that a RUN_STATE_CHANGED gives for a step that is none forwards.
const (
	ReasonRewind = "RESUME_REWIND"
	ReasonForce  = "RESUME_FORCED" // everything again, from the beginning
	ReasonReopen = "RUN_REOPENED"
)

// States lists all of them, in order.
func States() []State {
	return []State{Created, ClonedInputs, Ingested, FactsReady, PlanReady, Drafting, DraftReady, Linking,
		Validating, Fixing, ReadyForPR, PROpened, Done, Failed, Cancelled}
}

// Terminal reports whether the run is over.
func (s State) Terminal() bool { return s == Done || s == Failed || s == Cancelled }

// Transitional reports whether work is going on in this state, so that a resume
// has to step back from it.
func (s State) Transitional() bool { _, ok := rewinds[s]; return ok }

// Stable reports whether a resume can continue from this state as it is.
func (s State) Stable() bool { return !s.Terminal() && !s.Transitional() }

// RewindTo is the stable state that a resume steps back to.
func (s State) RewindTo() (State, bool) { to, ok := rewinds[s]; return to, ok }

// Next lists the states that may follow, the reason of the step given.
func (s State) Next(reason string) []State {
	switch {
	case reason == ReasonReopen && s == Failed:
		var stable []State
		for _, to := range States() {
			if to.Stable() {
				stable = append(stable, to)
			}
		}
		return stable
	case s.Terminal():
		return nil
	}
	next := slices.Clone(onwards[s])
	if to, ok := rewinds[s]; ok && reason == ReasonRewind {
		next = append(next, to)
	}
	if reason == ReasonForce && s != Created {
		next = append(next, Created)
	}
	return append(next, Failed, Cancelled)
}

// checkStep refuses a step that is not an edge of the machine.
func checkStep(from, to State, reason string) error {
	next := from.Next(reason)
	if slices.Contains(next, to) {
		return nil
	}
	err := fault.New(fault.InvalidStateTransition, "a run does not go from %s to %s", from, to)
	if len(next) == 0 {
		return err.WithHint("%s is the end", from)
	}
	return err.WithHint("allowed from %s: %s", from, joinWords(next))
}

// SectionState of a part of the product.
type SectionState string

// The states of a section.
const (
	NotStarted SectionState = "NOT_STARTED"
	Outlined   SectionState = "OUTLINED"
	Drafted    SectionState = "DRAFTED"
	Merged     SectionState = "MERGED_IN_WORKTREE"
	Validated  SectionState = "DONE"
	Blocked    SectionState = "BLOCKED"
)

// SectionStates lists all of them.
func SectionStates() []SectionState {
	return []SectionState{NotStarted, Outlined, Drafted, Merged, Validated, Blocked}
}

// sectionNext: forwards, into BLOCKED from anywhere but the end, out of it to
// where work continues; back when a resume or a fix does a part again.
var sectionNext = map[SectionState][]SectionState{
	NotStarted: {Outlined, Blocked},
	Outlined:   {Drafted, Blocked},
	Drafted:    {Merged, Outlined, Blocked},
	Merged:     {Validated, Drafted, Blocked},
	Validated:  {Merged},
	Blocked:    {Outlined, Drafted, Merged},
}

// SectionPath is the shortest way from one state of a section to another, without the
// first; nothing if it already exists, or if no way leads there.
func SectionPath(from, to SectionState) []SectionState {
	came := map[SectionState]SectionState{from: from}
	for queue := []SectionState{from}; len(queue) > 0 && came[to] == ""; queue = queue[1:] {
		for _, next := range sectionNext[queue[0]] {
			if came[next] == "" && (next != Blocked || to == Blocked) { // nothing is blocked on the way
				came[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	var path []SectionState
	for at := to; at != from && came[at] != ""; at = came[at] {
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}

func checkSectionStep(section string, from, to SectionState) error {
	if slices.Contains(sectionNext[from], to) {
		return nil
	}
	return fault.New(fault.InvalidStateTransition, "section %.60q does not go from %s to %s", section, from, to).
		WithHint("allowed from %s: %s", from, joinWords(sectionNext[from]))
}

func joinWords[S ~string](list []S) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
