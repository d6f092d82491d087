package ledger

import (
	"encoding/json"
	"strings"
	"time"

	"ramet/internal/base/text"
)

// Shown is an entry as ramet shows it. Its JSON is public (docs/json.md, TRACKED); what
// is absent is null.
type Shown struct {
	ID          string          `json:"agent_id"`
	Type        *string         `json:"agent_type"`
	Description string          `json:"task_description"`
	Plan        *string         `json:"plan"`
	Group       *string         `json:"task_group"`
	At          *string         `json:"timestamp"`
	Status      Status          `json:"status"`
	EndedAt     *string         `json:"completion_timestamp"`
	Resumes     *string         `json:"resumes"`
	ResumedBy   *string         `json:"resumed_by"`
	Owner       *Owner          `json:"owner"`
	Minutes     *float64        `json:"timeout_minutes"`
	Reason      *string         `json:"reason"`
	Recovered   bool            `json:"recovered"`
	Gone        *string         `json:"gone"`    // why a spawned one is taken to be dead
	Outcome     Status          `json:"outcome"` // at the end of its chain of resumes
	Extra       json.RawMessage `json:"extra"`   // what other tools wrote; drives no terminal
}

// Show is an entry as it is shown.
func (e Entry) Show(gone string, outcome Status) Shown {
	extra := text.JSON(strings.ToValidUTF8(string(Object{Members: e.Extra()}.Append(nil, 0)), "\uFFFD"))
	return Shown{e.ID, orNil(e.Type), e.Description, orNil(e.Plan), orNil(e.Group), orNil(shownTime(e.At)), e.Status,
		orNil(shownTime(e.EndedAt)), orNil(e.Resumes), orNil(e.ResumedBy), e.Owner, orNil(e.Minutes),
		orNil(e.Reason), e.Recovered, orNil(gone), outcome, json.RawMessage(extra)}
}

// Shower shows entries of one sheet. judge tells which of those that are spawned are gone.
func (s *Sheet) Shower(judge Judge) func(Entry) Shown {
	outcome := s.Outcomes()
	return func(e Entry) Shown {
		gone := ""
		if e.Status == Spawned {
			gone, _ = judge(e)
		}
		return e.Show(gone, outcome(e).Status)
	}
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}
