package run

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
