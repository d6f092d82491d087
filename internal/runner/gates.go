package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// gateTime limits a gate that has no timeout.
const gateTime = 2 * time.Minute

// validate runs the gates and decides: on to the pull request, or an issue is mended, or
// the run ends.
func (r *Run) validate(ctx context.Context) (run.State, error) {
	for _, g := range r.Recipe.Gates {
		if err := r.gate(ctx, g); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	issue, any := r.worst()
	if !any {
		return run.ReadyForPR, nil
	}
	mendable := len(issue.Files) > 0 && slices.ContainsFunc(r.Recipe.States[run.Fixing], func(name string) bool {
		w, ok := r.worker(name)
		return ok && w.Each.Issue
	})
	if !mendable {
		return "", fault.New(fault.GateFailed, "gate %s: %s", issue.Gate, issue.Message).
			WithHint("no worker can fix that; remove the cause and `ramet run resume %s --from-failed`", r.RunID)
	}
	if r.fixed[issue.IssueID] >= r.limits.FixAttempts {
		return "", r.unmended(issue, "")
	}
	if r.rounds >= r.limits.FixRounds {
		return "", fault.New(fault.NoProgress, "gate %s: %s (%d rounds of mending, and there is still something)", issue.Gate, issue.Message, r.rounds).
			WithHint("mend the cause, or allow more with --limit fix_rounds=N, then `ramet run resume %s --from-failed`", r.RunID)
	}
	r.rounds++
	r.mending = issue.IssueID
	return run.Fixing, nil
}

// unmended is the fault of an issue that stays after its attempts; why is what was wrong with
// the last of them.
func (r *Run) unmended(issue run.Issue, why string) error {
	if why != "" {
		why = "; the last: " + why
	}
	return fault.New(fault.NoProgress, "gate %s: %s (%d attempts to mend it)%s", issue.Gate, issue.Message, r.fixed[issue.IssueID], why).
		WithHint("mend the cause, then `ramet run resume %s --from-failed`", r.RunID)
}

func (r *Run) gate(ctx context.Context, g recipe.Gate) error {
	r.mu.Lock()
	began := newRecord(run.GateRunStarted, run.GateStart{Gate: g.Name})
	began.SpanID = SpanOf(fmt.Sprintf("%s gate %s %d", r.RunID, g.Name, r.Log.Now().EventCount))
	err := r.append(ctx, began)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	limit := g.Timeout
	if limit == 0 {
		limit = gateTime
	}
	with := make(map[string]string, len(g.With))
	for k, v := range g.With {
		with[k] = r.expand(v, "all")
	}
	g.With = with
	g.Inputs = slices.Clone(g.Inputs)
	for i, in := range g.Inputs {
		g.Inputs[i] = r.expand(in, "all")
	}
	look, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	issues, err := r.Gates.Inspect(look, g, r.Site)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(look.Err(), context.DeadlineExceeded):
		issues = append(issues, Issue{Severity: Blocker, Code: "GATE_TIMEOUT", Message: "the gate took longer than " + limit.String(),
			Fix: "make the gate faster, or give it more time with `timeout`"})
	case err != nil:
		issues = append(issues, Issue{Severity: Blocker, Code: "GATE_BROKEN", Message: "the gate could not look: " + err.Error()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	records := r.found(g.Name, issues)
	ids, ok := []string{}, true
	for _, id := range r.opened {
		if i := r.issues[id]; i.Gate == g.Name && i.Status != run.IssueDone {
			ids = append(ids, id)
			ok = ok && !isBlocking(i)
		}
	}
	ended := newRecord(run.GateRunFinished, run.GateEnd{Gate: g.Name, OK: ok, Issues: ids})
	ended.SpanID = began.SpanID
	return r.append(ctx, append(records, ended)...)
}

// found are the events that bring the open issues of a gate to what it found now. The
// caller holds mu.
func (r *Run) found(gate string, issues []Issue) []run.Request {
	var records []run.Request
	now := map[string]bool{}
	for _, i := range issues {
		i.Gate = gate
		id := IssueID(i)
		if now[id] {
			continue
		}
		now[id] = true
		if old, known := r.issues[id]; known && old.Status != run.IssueDone {
			if old.Message == i.Message && bytes.Equal(old.Location, locationJSON(i)) {
				continue
			}
			// In other words: the worker that fixes it reads the newest.
			records = append(records, newRecord(run.IssueResolved, run.Resolution{IssueID: id}))
		}
		records = append(records, r.open(id, i))
	}
	for _, id := range r.opened {
		if i := r.issues[id]; i.Gate == gate && i.Status != run.IssueDone && !now[id] {
			records = append(records, newRecord(run.IssueResolved, run.Resolution{IssueID: id}))
			i.Status = run.IssueDone
			r.issues[id] = i
		}
	}
	return records
}

// open is the event of a new issue.
func (r *Run) open(id string, i Issue) run.Request {
	found := run.NewIssue{IssueID: id, Gate: i.Gate, Severity: string(i.Severity), Message: i.Message, Files: i.Files, Status: run.IssueOpen}
	if i.Code != "" {
		found.ErrorCode = &i.Code
	}
	found.Location = locationJSON(i)
	if i.Fix != "" {
		found.SuggestedFix = &i.Fix
	}
	if _, known := r.issues[id]; !known {
		r.opened = append(r.opened, id)
	}
	r.issues[id] = run.Issue{IssueID: id, Gate: found.Gate, Severity: found.Severity, Message: found.Message, Files: found.Files,
		Status: found.Status, ErrorCode: found.ErrorCode, Location: found.Location, SuggestedFix: found.SuggestedFix}
	return newRecord(run.IssueOpened, run.Opening{Issue: found})
}

// locationJSON returns the place of an issue, for the log.
func locationJSON(i Issue) json.RawMessage {
	if i.Line <= 0 {
		return nil
	}
	return []byte(fmt.Sprintf(`{"line":%d}`, i.Line))
}

// Whole is the rule of an issue that is about all that was made: its files may be others the
// next time.
const Whole = "*"

// IssueID is the same for the same issue, found again: whatever words the gate finds for it,
// and on whatever line.
func IssueID(i Issue) string {
	files := i.Files
	if i.Rule == Whole {
		files = nil
	}
	name := strings.Join(append([]string{i.Gate, i.Code, i.Rule}, files...), "\x00")
	return i.Gate + "-" + chain.Sum([]byte(name)).String()[:12]
}

func isBlocking(i run.Issue) bool {
	return i.Status != run.IssueDone && (i.Severity == string(Error) || i.Severity == string(Blocker))
}

// worst is the issue to be mended next: blockers first, then in the order of opening.
func (r *Run) worst() (run.Issue, bool) {
	for _, severity := range []Severity{Blocker, Error} {
		for _, id := range r.opened {
			if i := r.issues[id]; isBlocking(i) && i.Severity == string(severity) {
				return i, true
			}
		}
	}
	return run.Issue{}, false
}
