package run

import "encoding/json"

// openedIssue is an issue as the one who opens it gives it. Other members are his
// own affair, also those that the snapshot uses for itself.
type openedIssue struct {
	ErrorCode    *string         `json:"error_code"`
	Files        []string        `json:"files"`
	Gate         string          `json:"gate"`
	IssueID      string          `json:"issue_id"`
	Location     json.RawMessage `json:"location"`
	Message      string          `json:"message"`
	Severity     string          `json:"severity"`
	Status       IssueStatus     `json:"status"`
	SuggestedFix *string         `json:"suggested_fix"`
}

func (o openedIssue) issue(ts string) Issue {
	return Issue{ErrorCode: o.ErrorCode, Files: o.Files, Gate: o.Gate, IssueID: o.IssueID, Location: canonical(o.Location),
		Message: o.Message, OpenedAt: ts, Severity: o.Severity, Status: o.Status, SuggestedFix: o.SuggestedFix}
}

func (r *Reducer) issueOpened(e Event) error {
	p, err := payload[struct {
		Issue openedIssue `json:"issue"`
	}](e)
	if err != nil {
		return err
	}
	issue := p.Issue.issue(e.TS)
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
	r.s.Issues[i].Status, r.s.Issues[i].ResolvedAt = IssueDone, moment(e)
	return nil
}
