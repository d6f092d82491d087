package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/fault"
)

// Apply is the snapshot after one more event. It is pure and total: an event that
// does not fit gives an error and the snapshot as it was. It does not look at
// hashes; see Chain for that.
func Apply(s Snapshot, e Event) (Snapshot, error) {
	r := NewReducer(s.Clone())
	if err := r.Apply(e); err != nil {
		return s, err
	}
	return r.Snapshot(), nil
}

// Reducer applies many events in place. It is Apply without the copy, with
// indexes, so that a million events take linear time.
type Reducer struct {
	s     Snapshot
	items map[string]int
	open  map[string]int // issues by id
}

// NewReducer goes on from a snapshot, which it owns from then on.
func NewReducer(s Snapshot) *Reducer {
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

// State is the run's state so far.
func (r *Reducer) State() State { return r.s.RunState }

// Count is how many events were applied.
func (r *Reducer) Count() int64 { return r.s.EventCount }

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

// afterEnd are the types that may follow the end of a run.
var afterEnd = []Type{RunCompleted, RunFailed, RunCancelled, RunReopened, RunForked, RunStateChanged,
	LLMCallFinished, LLMCallFailed}

func (r *Reducer) fits(e Event) error {
	_, known := payloads[e.Type]
	switch {
	case r.s.EventCount == 0 && e.Type != RunCreated:
		return refuse(e, "a run begins with %s", RunCreated)
	case r.s.EventCount > 0 && e.Type == RunCreated:
		return refuse(e, "the run was created already")
	case e.RunID != r.s.RunID && e.Type != RunForked:
		return refuse(e, "it is an event of run %s", e.RunID)
	case known && r.s.RunState.Terminal() && !slices.Contains(afterEnd, e.Type):
		return fault.New(fault.InvalidStateTransition, "event %s (%s): the run is %s", e.ID, e.Type, r.s.RunState).
			WithHint("what is over does not go on; a FAILED run can be reopened")
	}
	return nil
}

func refuse(e Event, format string, args ...any) error {
	return fault.New(fault.InvalidEvent, "event %s (%s): %s", e.ID, e.Type, fmt.Sprintf(format, args...))
}

// payload decodes the payload of an event whose form was checked.
func payload[P any](e Event) (P, error) {
	var p P
	if err := fast.Unmarshal(e.Payload, &p); err != nil {
		return p, refuse(e, "payload: %v", err)
	}
	return p, nil
}

var reducers = map[Type]func(*Reducer, Event) error{
	RunCreated: func(r *Reducer, e Event) error {
		p, err := payload[struct {
			RunID string `json:"run_id"`
		}](e)
		if err == nil && p.RunID != e.RunID {
			err = refuse(e, "its payload names run %s", p.RunID)
		}
		return err
	},
	RunForked: func(r *Reducer, e Event) error {
		p, err := payload[Fork](e)
		switch {
		case err != nil:
			return err
		case p.ParentRunID != r.s.RunID || p.EventCount != r.s.EventCount || p.EventHash != r.s.LastEventHash:
			return refuse(e, "it forks run %s after %d events, but what stands before it is run %s with %d",
				p.ParentRunID, p.EventCount, r.s.RunID, r.s.EventCount)
		}
		r.s.RunID = e.RunID
		return nil
	},
	RunStateChanged: func(r *Reducer, e Event) error {
		p, err := payload[struct {
			Old    State  `json:"old_state"`
			New    State  `json:"new_state"`
			Reason string `json:"reason"`
		}](e)
		if err != nil {
			return err
		}
		if p.Old != r.s.RunState {
			return fault.New(fault.InvalidStateTransition, "event %s leaves %s, but the run is %s", e.ID, p.Old, r.s.RunState).
				WithHint("allowed from %s: %s", r.s.RunState, join(r.s.RunState.Next(p.Reason)))
		}
		if err := checkStep(p.Old, p.New, p.Reason); err != nil {
			return err
		}
		if p.Old == Failed {
			r.s.Failure = nil
		}
		r.s.RunState = p.New
		return nil
	},
	RunFailed: func(r *Reducer, e Event) error {
		p, err := payload[Failure](e)
		p.TS = e.TS
		if err == nil {
			r.s.Failure = &p
		}
		return err
	},
	RunCancelled: func(r *Reducer, e Event) error {
		p, err := payload[struct {
			Reason string `json:"reason"`
		}](e)
		if err == nil {
			r.s.Failure = &Failure{Code: string(Cancelled), Message: p.Reason, TS: e.TS}
		}
		return err
	},
	RunReopened: func(r *Reducer, e Event) error {
		if r.s.RunState != Failed {
			return fault.New(fault.InvalidStateTransition, "event %s reopens a run that is %s", e.ID, r.s.RunState).
				WithHint("only a FAILED run can be reopened")
		}
		return nil
	},
	ResumeRewind: func(r *Reducer, e Event) error {
		p, err := payload[struct {
			From State `json:"from_state"`
			To   State `json:"to_state"`
		}](e)
		if err != nil {
			return err
		}
		to, ok := p.From.RewindTo()
		forced := p.To == Created && p.From != Created
		if p.From != r.s.RunState || !forced && (!ok || to != p.To) {
			return fault.New(fault.InvalidStateTransition, "event %s rewinds from %s to %s, but the run is %s", e.ID, p.From, p.To, r.s.RunState).
				WithHint("DRAFTING goes back to PLAN_READY; LINKING, VALIDATING and FIXING to DRAFT_READY; a forced resume to CREATED")
		}
		return nil
	},
	ArtifactWritten: func(r *Reducer, e Event) error {
		a, err := payload[Artifact](e)
		if err != nil {
			return err
		}
		a.TS = e.TS
		i := sort.Search(len(r.s.Artifacts), func(i int) bool { return r.s.Artifacts[i].Name >= a.Name })
		if i < len(r.s.Artifacts) && r.s.Artifacts[i].Name == a.Name {
			r.s.Artifacts[i] = a
		} else {
			r.s.Artifacts = slices.Insert(r.s.Artifacts, i, a)
		}
		return nil
	},
	WorkItemQueued:      (*Reducer).queued,
	WorkItemStarted:     (*Reducer).started,
	WorkItemFinished:    (*Reducer).finished,
	WorkItemFailed:      (*Reducer).failed,
	WorkItemInvalidated: (*Reducer).invalidated,
	GateRunStarted: func(r *Reducer, e Event) error {
		p, err := payload[gatePayload](e)
		if err == nil {
			g := r.gate(p.Gate)
			g.StartedAt, g.FinishedAt, g.OK, g.Issues = &e.TS, nil, nil, []string{}
			g.Runs++
		}
		return err
	},
	GateRunFinished: func(r *Reducer, e Event) error {
		p, err := payload[gatePayload](e)
		if err != nil {
			return err
		}
		i, known := r.findGate(p.Gate)
		if !known || r.s.Gates[i].FinishedAt != nil {
			return refuse(e, "gate %q is not running", p.Gate)
		}
		g := &r.s.Gates[i]
		g.FinishedAt, g.OK, g.Issues = &e.TS, &p.OK, p.Issues
		return nil
	},
	IssueOpened:   (*Reducer).issueOpened,
	IssueResolved: (*Reducer).issueResolved,
	SectionStateChanged: func(r *Reducer, e Event) error {
		p, err := payload[struct {
			Section string       `json:"section"`
			Old     SectionState `json:"old_state"`
			New     SectionState `json:"new_state"`
		}](e)
		if err != nil {
			return err
		}
		now, ok := r.s.SectionStates[p.Section]
		if !ok {
			now = NotStarted
		}
		if p.Old != now {
			return fault.New(fault.InvalidStateTransition, "section %.60q is %s, not %s", p.Section, now, p.Old)
		}
		if err := checkSectionStep(p.Section, p.Old, p.New); err != nil {
			return err
		}
		r.s.SectionStates[p.Section] = p.New
		return nil
	},
	PullRequestOpened: func(r *Reducer, e Event) error {
		p, err := payload[PR](e)
		p.OpenedAt = e.TS
		if err == nil {
			r.s.PR = &p
		}
		return err
	},
}

// Fork is the payload of RUN_FORKED.
type Fork struct {
	ParentRunID string `json:"parent_run_id"`
	EventID     string `json:"event_id"`
	EventHash   string `json:"event_hash"`
	EventCount  int64  `json:"event_count"`
}

type gatePayload struct {
	Gate   string   `json:"gate"`
	OK     bool     `json:"ok"`
	Issues []string `json:"issues"`
}

func (r *Reducer) findGate(name string) (int, bool) {
	i := sort.Search(len(r.s.Gates), func(i int) bool { return r.s.Gates[i].Name >= name })
	return i, i < len(r.s.Gates) && r.s.Gates[i].Name == name
}

// gate finds or makes the entry of a gate, in order of names.
func (r *Reducer) gate(name string) *Gate {
	i, known := r.findGate(name)
	if !known {
		r.s.Gates = slices.Insert(r.s.Gates, i, Gate{Name: name, Issues: []string{}})
	}
	return &r.s.Gates[i]
}

// ItemID is the id of a work item: {run_id}:{worker}:{attempt}:{scope}.
func ItemID(runID, worker string, attempt int64, scope string) string {
	return fmt.Sprintf("%s:%s:%d:%s", runID, worker, attempt, scope)
}

func (r *Reducer) queued(e Event) error {
	w, err := payload[WorkItem](e)
	if err != nil {
		return err
	}
	if want := ItemID(r.s.RunID, w.Worker, w.Attempt, w.ScopeKey); w.WorkItemID != want {
		return refuse(e, "work_item_id is %q, by its fields it is %q", w.WorkItemID, want)
	}
	if _, twice := r.items[w.WorkItemID]; twice {
		return refuse(e, "work item %s was queued before", w.WorkItemID)
	}
	if strings.Contains(w.Worker, ":") {
		return refuse(e, "a worker's name holds no colon")
	}
	w.Status = Pending
	r.items[w.WorkItemID] = len(r.s.WorkItems)
	r.s.WorkItems = append(r.s.WorkItems, w)
	return nil
}

type itemPayload struct {
	WorkItemID string     `json:"work_item_id"`
	Outputs    []File     `json:"outputs"`
	Error      *ItemError `json:"error"`
	Retryable  *bool      `json:"retryable"`
	Reason     string     `json:"reason"`
}

// item finds the work item of an event and demands one of some statuses.
func (r *Reducer) item(e Event, from ...Status) (*WorkItem, itemPayload, error) {
	p, err := payload[itemPayload](e)
	if err != nil {
		return nil, p, err
	}
	i, known := r.items[p.WorkItemID]
	if !known {
		return nil, p, refuse(e, "no work item %s was queued", p.WorkItemID)
	}
	w := &r.s.WorkItems[i]
	if !slices.Contains(from, w.Status) {
		return nil, p, fault.New(fault.InvalidStateTransition, "event %s (%s): work item %s is %s", e.ID, e.Type, w.WorkItemID, w.Status).
			WithHint("it must be %s", join(from))
	}
	return w, p, nil
}

func (r *Reducer) started(e Event) error {
	w, _, err := r.item(e, Pending)
	if err == nil {
		w.Status, w.StartedAt = InProgress, &e.TS
	}
	return err
}

func (r *Reducer) finished(e Event) error {
	w, p, err := r.item(e, InProgress)
	if err == nil {
		w.Status, w.FinishedAt, w.Outputs = Completed, &e.TS, p.Outputs
	}
	return err
}

func (r *Reducer) failed(e Event) error {
	w, p, err := r.item(e, Pending, InProgress)
	if err == nil {
		w.Status, w.FinishedAt, w.Error, w.Retryable = ItemFailed, &e.TS, p.Error, p.Retryable
	}
	return err
}

// Invalidated is the code of an item that was completed and is to be done again.
const Invalidated = "INVALIDATED"

func (r *Reducer) invalidated(e Event) error {
	w, p, err := r.item(e, Completed, ItemFailed)
	if err == nil {
		retry := true
		w.Status, w.Error, w.Retryable = ItemFailed, &ItemError{Code: Invalidated, Message: p.Reason}, &retry
	}
	return err
}

func (r *Reducer) issueOpened(e Event) error {
	p, err := payload[struct {
		Issue Issue `json:"issue"`
	}](e)
	if err != nil {
		return err
	}
	issue := p.Issue
	issue.Location = canonical(json.RawMessage(issue.Location))
	issue.OpenedAt, issue.ResolvedAt = e.TS, nil
	if issue.Status == IssueDone {
		return refuse(e, "issue %s is opened as RESOLVED", issue.IssueID)
	}
	if i, known := r.open[issue.IssueID]; known {
		if r.s.Issues[i].Status != IssueDone {
			return refuse(e, "issue %s is open already", issue.IssueID)
		}
		r.s.Issues[i] = issue // it came back
		return nil
	}
	r.open[issue.IssueID] = len(r.s.Issues)
	r.s.Issues = append(r.s.Issues, issue)
	return nil
}

func (r *Reducer) issueResolved(e Event) error {
	p, err := payload[struct {
		IssueID string `json:"issue_id"`
	}](e)
	if err != nil {
		return err
	}
	i, known := r.open[p.IssueID]
	if !known || r.s.Issues[i].Status == IssueDone {
		return refuse(e, "issue %s is not open", p.IssueID)
	}
	r.s.Issues[i].Status, r.s.Issues[i].ResolvedAt = IssueDone, &e.TS
	return nil
}
