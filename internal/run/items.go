package run

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// ItemID is the id of a work item: {run_id}:{worker}:{attempt}:{scope}.
func ItemID(runID, worker string, attempt int64, scope string) string {
	return fmt.Sprintf("%s:%s:%d:%s", runID, worker, attempt, scope)
}

func (r *Reducer) queued(e Event) error {
	w, err := readPayload[Item](e)
	if err != nil {
		return err
	}
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
}

type itemPayload struct {
	WorkItemID string     `json:"work_item_id"`
	Outputs    []File     `json:"outputs"`
	Error      *ItemError `json:"error"`
	Retryable  *bool      `json:"retryable"`
	Reason     string     `json:"reason"`
}

// item finds the work item of an event and demands one of some statuses.
func (r *Reducer) item(e Event, from ...Status) (*Item, itemPayload, error) {
	p, err := readPayload[itemPayload](e)
	if err != nil {
		return nil, p, err
	}
	i, known := r.items[p.WorkItemID]
	if !known {
		return nil, p, refuseEvent(e, "no work item %s was queued", p.WorkItemID)
	}
	w := &r.s.WorkItems[i]
	if !slices.Contains(from, w.Status) {
		return nil, p, fault.New(fault.InvalidStateTransition, "event %s (%s): work item %s is %s", e.ID, e.Type, w.WorkItemID, w.Status).
			WithHint("it must be %s", joinWords(from))
	}
	return w, p, nil
}

func (r *Reducer) started(e Event) error {
	w, _, err := r.item(e, Pending)
	if err == nil {
		w.Status, w.StartedAt = InProgress, eventTime(e)
	}
	return err
}

func (r *Reducer) finished(e Event) error {
	w, p, err := r.item(e, InProgress)
	if err == nil {
		w.Status, w.FinishedAt, w.Outputs = Completed, eventTime(e), p.Outputs
	}
	return err
}

func (r *Reducer) failed(e Event) error {
	w, p, err := r.item(e, Pending, InProgress)
	if err == nil {
		w.Status, w.FinishedAt, w.Error, w.Retryable = ItemFailed, eventTime(e), p.Error, p.Retryable
	}
	return err
}

// Invalidated is the code of an item that was completed and is to be done again.
const Invalidated = "INVALIDATED"

func (r *Reducer) invalidated(e Event) error {
	w, p, err := r.item(e, Completed, ItemFailed, ItemSkipped)
	if err == nil {
		retry := true
		w.Status, w.Error, w.Retryable = ItemFailed, &ItemError{Code: Invalidated, Message: p.Reason}, &retry
	}
	return err
}

func (o NewIssue) issue(ts string) Issue {
	return Issue{ErrorCode: o.ErrorCode, Files: o.Files, Gate: o.Gate, IssueID: o.IssueID, Location: canonicalLocation(o.Location),
		Message: o.Message, OpenedAt: ts, Severity: o.Severity, Status: o.Status, SuggestedFix: o.SuggestedFix}
}

func (r *Reducer) issueOpened(e Event) error {
	p, err := readPayload[Opening](e)
	if err != nil {
		return err
	}
	issue := p.Issue.issue(e.TS)
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
}

func (r *Reducer) issueResolved(e Event) error {
	p, err := readPayload[Resolution](e)
	if err != nil {
		return err
	}
	i, known := r.open[p.IssueID]
	if !known || r.s.Issues[i].Status == IssueDone {
		return refuseEvent(e, "issue %s is not open", p.IssueID)
	}
	r.s.Issues[i].Status, r.s.Issues[i].ResolvedAt = IssueDone, eventTime(e)
	return nil
}
