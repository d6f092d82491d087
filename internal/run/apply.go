package run

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
)

// Reducer applies events to a snapshot, in place and with indexes, so that a million
// events take linear time. It is total: an event that does not fit gives an error and
// leaves the snapshot as it was. It does not look at hashes; see Chain for that.
type Reducer struct {
	s     Snapshot
	items map[string]int
	open  map[string]int // issues by id
}

// NewReducer continues a snapshot, which it owns from then on.
func NewReducer(s Snapshot) *Reducer {
	if s.SectionStates == nil {
		s.SectionStates = map[string]SectionState{}
	}
	r := &Reducer{s: s, items: map[string]int{}, open: map[string]int{}}
	for i, w := range s.WorkItems {
		r.items[w.WorkItemID] = i
	}
	for i, issue := range s.Issues {
		r.open[issue.IssueID] = i
	}
	return r
}

// Snapshot is a copy of what was reduced so far.
func (r *Reducer) Snapshot() Snapshot { return r.s.Clone() }

// Write writes the snapshot without copying it.
func (r *Reducer) Write(w io.Writer) error { return r.s.Write(w) }

// State is the run's state so far.
func (r *Reducer) State() State { return r.s.RunState }

// Count returns the number of events that were applied.
func (r *Reducer) Count() int64 { return r.s.EventCount }

// Hash returns the hash of the last event applied.
func (r *Reducer) Hash() string { return r.s.LastEventHash }

// Apply takes the next event, or refuses it and stays as it was.
func (r *Reducer) Apply(e Event) error {
	if err := r.fits(e); err != nil {
		return err
	}
	if reduce, known := reducers[e.Type]; known {
		if err := reduce(r, e); err != nil {
			return err
		}
	}
	if r.s.EventCount == 0 {
		r.s.CreatedAt = e.TS
	}
	r.s.UpdatedAt, r.s.LastEventHash = e.TS, e.Hash
	r.s.EventCount++
	return nil
}

// afterEnd lists the types that may follow the end of a run: those that record the end,
// those that continue it, and answers to open calls.
var afterEnd = map[State][]Type{
	Done:      {RunCompleted, RunStateChanged, RunReopened, RunForked, LLMCallFinished, LLMCallFailed},
	Failed:    {RunFailed, RunStateChanged, RunReopened, RunForked, LLMCallFinished, LLMCallFailed},
	Cancelled: {RunCancelled, RunStateChanged, RunReopened, RunForked, LLMCallFinished, LLMCallFailed},
}

func (r *Reducer) fits(e Event) error {
	_, known := payloads()[e.Type]
	switch {
	case r.s.EventCount == 0 && e.Type != RunCreated:
		return refuseEvent(e, "a run begins with %s", RunCreated)
	case r.s.EventCount > 0 && e.Type == RunCreated:
		return refuseEvent(e, "the run was created already")
	case e.RunID != r.s.RunID && e.Type != RunForked:
		return refuseEvent(e, "it is an event of run %s", e.RunID)
	case known && r.s.RunState.Terminal() && !slices.Contains(afterEnd[r.s.RunState], e.Type):
		return fault.New(fault.InvalidStateTransition, "event %s (%s): the run is %s", e.ID, e.Type, r.s.RunState).
			WithHint("a finished run can't continue; a FAILED run can be reopened")
	}
	return nil
}

func refuseEvent(e Event, format string, args ...any) error {
	return fault.New(fault.InvalidEvent, "event %s (%s): %s", e.ID, e.Type, fmt.Sprintf(format, args...))
}

// readPayload decodes the payload of an event whose form was checked.
func readPayload[P any](e Event) (P, error) {
	var p P
	if err := fast.Unmarshal(e.Payload, &p); err != nil {
		return p, refuseEvent(e, "payload: %v", err)
	}
	return p, nil
}

// eventTime returns a copy of the time of an event: a pointer into the event would keep
// all of it in memory, its line included.
func eventTime(e Event) *string {
	ts := e.TS
	return &ts
}

// fail records why a run ends. What comes after the end explains it, and leaves
// the state in which it came.
func (r *Reducer) fail(code, message, ts string) {
	from := r.s.RunState
	if from.Terminal() && r.s.Failure != nil {
		from = r.s.Failure.FromState
	}
	r.s.Failure = &Failure{Code: code, FromState: from, Message: message, TS: ts}
}

// checkReopening refuses to reopen a failed run further on than where it failed.
func (r *Reducer) checkReopening(to State) error {
	if r.s.RunState != Failed || r.s.Failure == nil || to == Created || to == r.s.Failure.reopensAt() {
		return nil
	}
	return fault.New(fault.InvalidStateTransition, "a run that failed in %s can't continue from %s", r.s.Failure.FromState, to).
		WithHint("allowed from FAILED: %s, or %s to do everything again", r.s.Failure.reopensAt(), Created)
}

// on returns a reducer that decodes the payload of its events.
func on[P any](reduce func(r *Reducer, e Event, p P) error) func(*Reducer, Event) error {
	return func(r *Reducer, e Event) error {
		p, err := readPayload[P](e)
		if err != nil {
			return err
		}
		return reduce(r, e, p)
	}
}

// onItem returns a reducer for a work item that must have one of some statuses.
func onItem(reduce func(w *Item, p itemPayload, at *string), from ...Status) func(*Reducer, Event) error {
	return on(func(r *Reducer, e Event, p itemPayload) error {
		i, known := r.items[p.WorkItemID]
		if !known {
			return refuseEvent(e, "no work item %s was queued", p.WorkItemID)
		}
		w := &r.s.WorkItems[i]
		if !slices.Contains(from, w.Status) {
			return fault.New(fault.InvalidStateTransition, "event %s (%s): work item %s is %s", e.ID, e.Type, w.WorkItemID, w.Status).
				WithHint("it must be %s", joinWords(from))
		}
		reduce(w, p, eventTime(e))
		return nil
	})
}

var reducers = map[Type]func(*Reducer, Event) error{
	RunCreated: on(func(_ *Reducer, e Event, p Creation) error {
		if p.RunID != e.RunID {
			return refuseEvent(e, "its payload names run %s", p.RunID)
		}
		return nil
	}),
	RunForked: on(func(r *Reducer, e Event, p Fork) error {
		switch {
		case e.RunID == r.s.RunID:
			return refuseEvent(e, "a run does not fork from itself")
		case p.ParentRunID != r.s.RunID || p.EventCount != r.s.EventCount || p.EventHash != r.s.LastEventHash:
			return refuseEvent(e, "it forks run %s after %d events, but run %s with %d events is before it",
				p.ParentRunID, p.EventCount, r.s.RunID, r.s.EventCount)
		}
		r.s.RunID = e.RunID
		return nil
	}),
	RunStateChanged: on(func(r *Reducer, e Event, p Step) error {
		if p.Old != r.s.RunState {
			return fault.New(fault.InvalidStateTransition, "event %s leaves %s, but the run is %s", e.ID, p.Old, r.s.RunState).
				WithHint("allowed from %s: %s", r.s.RunState, joinWords(r.s.RunState.Next(p.Reason)))
		}
		if err := checkStep(p.Old, p.New, p.Reason); err != nil {
			return err
		}
		if err := r.checkReopening(p.New); err != nil {
			return err
		}
		switch {
		case p.New != Failed && p.New != Cancelled:
			r.s.Failure = nil
		case r.s.Failure == nil:
			r.fail(string(p.New), p.Reason, e.TS)
		default:
			f := *r.s.Failure
			f.FromState = p.Old
			r.s.Failure = &f
		}
		r.s.RunState = p.New
		return nil
	}),
	RunFailed: on(func(r *Reducer, e Event, p ItemError) error {
		r.fail(p.Code, p.Message, e.TS)
		return nil
	}),
	RunCancelled: on(func(r *Reducer, e Event, p Why) error {
		r.fail(string(Cancelled), p.Reason, e.TS)
		return nil
	}),
	RunCompleted: func(r *Reducer, e Event) error {
		if r.s.RunState != PROpened && r.s.RunState != Done {
			return fault.New(fault.InvalidStateTransition, "event %s completes a run that is %s", e.ID, r.s.RunState).
				WithHint("it must be %s or %s", PROpened, Done)
		}
		return nil
	},
	RunReopened: func(r *Reducer, e Event) error {
		if r.s.RunState != Failed {
			return fault.New(fault.InvalidStateTransition, "event %s reopens a run that is %s", e.ID, r.s.RunState).
				WithHint("only a FAILED run can be reopened")
		}
		return nil
	},
	ResumeRewind: on(func(r *Reducer, e Event, p Rewind) error {
		to, ok := p.From.RewindTo()
		forced := p.To == Created && p.From != Created
		if p.From != r.s.RunState || !forced && (!ok || to != p.To) {
			return fault.New(fault.InvalidStateTransition, "event %s rewinds from %s to %s, but the run is %s", e.ID, p.From, p.To, r.s.RunState).
				WithHint("DRAFTING goes back to PLAN_READY; LINKING, VALIDATING and FIXING to DRAFT_READY; a forced resume to CREATED")
		}
		return nil
	}),
	ArtifactWritten: on(func(r *Reducer, e Event, a Artifact) error {
		a.TS = e.TS
		i := sort.Search(len(r.s.Artifacts), func(i int) bool { return r.s.Artifacts[i].Name >= a.Name })
		if i < len(r.s.Artifacts) && r.s.Artifacts[i].Name == a.Name {
			r.s.Artifacts[i] = a
		} else {
			r.s.Artifacts = slices.Insert(r.s.Artifacts, i, a)
		}
		return nil
	}),
	WorkItemQueued: on(func(r *Reducer, e Event, w Item) error {
		if want := ItemID(r.s.RunID, w.Worker, w.Attempt, w.ScopeKey); w.WorkItemID != want {
			return refuseEvent(e, "work_item_id is %q, by its fields it is %q", w.WorkItemID, want)
		}
		if _, twice := r.items[w.WorkItemID]; twice {
			return refuseEvent(e, "work item %s was queued before", w.WorkItemID)
		}
		if strings.Contains(w.Worker, ":") {
			return refuseEvent(e, "a worker's name must not contain a colon")
		}
		w.Status = Pending
		r.items[w.WorkItemID] = len(r.s.WorkItems)
		r.s.WorkItems = append(r.s.WorkItems, w)
		return nil
	}),
	WorkItemStarted: onItem(func(w *Item, _ itemPayload, at *string) { w.Status, w.StartedAt = InProgress, at }, Pending),
	WorkItemFinished: onItem(func(w *Item, p itemPayload, at *string) {
		w.Status, w.FinishedAt, w.Outputs = Completed, at, p.Outputs
	}, InProgress),
	WorkItemFailed: onItem(func(w *Item, p itemPayload, at *string) {
		w.Status, w.FinishedAt, w.Error, w.Retryable = ItemFailed, at, p.Error, p.Retryable
	}, Pending, InProgress),
	WorkItemInvalidated: onItem(func(w *Item, p itemPayload, _ *string) {
		w.Status, w.Error, w.Retryable = ItemFailed, &ItemError{Code: Invalidated, Message: p.Reason}, new(true)
	}, Completed, ItemFailed, ItemSkipped),
	GateRunStarted: on(func(r *Reducer, e Event, p GateStart) error {
		i, known := r.findGate(p.Gate)
		if !known {
			r.s.Gates = slices.Insert(r.s.Gates, i, Gate{Name: p.Gate})
		}
		g := &r.s.Gates[i]
		g.StartedAt, g.FinishedAt, g.OK, g.Issues = eventTime(e), nil, nil, []string{}
		g.Runs++
		return nil
	}),
	GateRunFinished: on(func(r *Reducer, e Event, p GateEnd) error {
		i, known := r.findGate(p.Gate)
		if !known || r.s.Gates[i].FinishedAt != nil {
			return refuseEvent(e, "gate %q is not running", p.Gate)
		}
		g := &r.s.Gates[i]
		g.FinishedAt, g.OK, g.Issues = eventTime(e), &p.OK, p.Issues
		return nil
	}),
	IssueOpened: on(func(r *Reducer, e Event, p Opening) error {
		o := p.Issue
		issue := Issue{ErrorCode: o.ErrorCode, Files: o.Files, Gate: o.Gate, IssueID: o.IssueID, Location: canonicalLocation(o.Location),
			Message: o.Message, OpenedAt: e.TS, Severity: o.Severity, Status: o.Status, SuggestedFix: o.SuggestedFix}
		if issue.Status == IssueDone {
			return refuseEvent(e, "issue %s is opened as RESOLVED", issue.IssueID)
		}
		if i, known := r.open[issue.IssueID]; known {
			if r.s.Issues[i].Status != IssueDone {
				return refuseEvent(e, "issue %s is open already", issue.IssueID)
			}
			r.s.Issues[i] = issue // it came back
			return nil
		}
		r.open[issue.IssueID] = len(r.s.Issues)
		r.s.Issues = append(r.s.Issues, issue)
		return nil
	}),
	IssueResolved: on(func(r *Reducer, e Event, p Resolution) error {
		i, known := r.open[p.IssueID]
		if !known || r.s.Issues[i].Status == IssueDone {
			return refuseEvent(e, "issue %s is not open", p.IssueID)
		}
		r.s.Issues[i].Status, r.s.Issues[i].ResolvedAt = IssueDone, eventTime(e)
		return nil
	}),
	SectionStateChanged: on(func(r *Reducer, e Event, p SectionStep) error {
		now, ok := r.s.SectionStates[p.Section]
		if !ok {
			now = NotStarted
		}
		if p.Old != now {
			return fault.New(fault.InvalidStateTransition, "section %.60q is %s, not %s", p.Section, now, p.Old)
		}
		if !slices.Contains(sectionNext[p.Old], p.New) {
			return fault.New(fault.InvalidStateTransition, "section %.60q does not go from %s to %s", p.Section, p.Old, p.New).
				WithHint("allowed from %s: %s", p.Old, joinWords(sectionNext[p.Old]))
		}
		r.s.SectionStates[p.Section] = p.New
		return nil
	}),
	PullRequestOpened: on(func(r *Reducer, e Event, p PR) error {
		p.OpenedAt = e.TS
		r.s.PR = &p
		return nil
	}),
}

func (r *Reducer) findGate(name string) (int, bool) {
	i := sort.Search(len(r.s.Gates), func(i int) bool { return r.s.Gates[i].Name >= name })
	return i, i < len(r.s.Gates) && r.s.Gates[i].Name == name
}

// ItemID returns the id of a work item: {run_id}:{worker}:{attempt}:{scope}.
func ItemID(runID, worker string, attempt int64, scope string) string {
	return fmt.Sprintf("%s:%s:%d:%s", runID, worker, attempt, scope)
}

type itemPayload struct {
	WorkItemID string     `json:"work_item_id"`
	Outputs    []File     `json:"outputs"`
	Error      *ItemError `json:"error"`
	Retryable  *bool      `json:"retryable"`
	Reason     string     `json:"reason"`
}

// Invalidated is the code of an item that was completed and is to be done again.
const Invalidated = "INVALIDATED"
