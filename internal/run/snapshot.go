package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"ramet/internal/base/chain"
)

// Snapshot is the state of a run after some of its events. It is a cache: always equal to
// the replay of its first EventCount events. The fields are in the order of
// their names, so that encoding gives sorted keys.
type Snapshot struct {
	Artifacts     []Artifact              `json:"artifacts"` // sorted by name
	CreatedAt     string                  `json:"created_at"`
	EventCount    int64                   `json:"event_count"`
	Failure       *Failure                `json:"failure"`
	Gates         []Gate                  `json:"gates"`  // sorted by name
	Issues        []Issue                 `json:"issues"` // in the order they were opened
	LastEventHash string                  `json:"last_event_hash"`
	PR            *PR                     `json:"pr"`
	RunID         string                  `json:"run_id"`
	RunState      State                   `json:"run_state"`
	SchemaVersion string                  `json:"schema_version"`
	SectionStates map[string]SectionState `json:"section_states"`
	UpdatedAt     string                  `json:"updated_at"`
	WorkItems     []Item                  `json:"work_items"` // in the order they were queued
}

// SchemaVersion of the snapshots that this version writes.
const SchemaVersion = "1"

// Artifact is a file that a run wrote; the latest write of a name wins.
type Artifact struct {
	Name         string  `json:"name"`
	Path         string  `json:"path"`
	SchemaID     string  `json:"schema_id"`
	SHA256       string  `json:"sha256"`
	TS           string  `json:"ts"`
	WriterWorker *string `json:"writer_worker"`
}

// Status of a work item.
type Status string

// The statuses of a work item.
const (
	Pending     Status = "pending"
	InProgress  Status = "in_progress"
	Completed   Status = "completed"
	ItemFailed  Status = "failed"
	ItemSkipped Status = "skipped"
)

// Item is one unit of work.
type Item struct {
	Attempt        int64      `json:"attempt"`
	Effect         *string    `json:"effect"`
	Error          *ItemError `json:"error"`
	FinishedAt     *string    `json:"finished_at"`
	IdempotencyKey *string    `json:"idempotency_key"`
	Inputs         []File     `json:"inputs"`
	Outputs        []File     `json:"outputs"`
	Retryable      *bool      `json:"retryable"`
	ScopeKey       string     `json:"scope_key"`
	StartedAt      *string    `json:"started_at"`
	Status         Status     `json:"status"`
	WorkItemID     string     `json:"work_item_id"`
	Worker         string     `json:"worker"`
}

// External reports whether the item changes the world outside the run.
func (w Item) External() bool { return w.Effect != nil && *w.Effect == EffectExternal }

// File goes into or comes out of a work item. In events it may also be a bare
// string, its path.
type File struct {
	Name   *string `json:"name"`
	Path   string  `json:"path"`
	SHA256 *string `json:"sha256"`
}

// UnmarshalJSON also reads a bare path.
func (f *File) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*f = File{}
		return json.Unmarshal(b, &f.Path)
	}
	type plain File
	return json.Unmarshal(b, (*plain)(f))
}

// ItemError is the reason why a work item failed. In events it may also be a bare string.
type ItemError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// UnmarshalJSON also reads a bare message.
func (e *ItemError) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*e = ItemError{Code: "FAILED"}
		return json.Unmarshal(b, &e.Message)
	}
	type plain ItemError
	return json.Unmarshal(b, (*plain)(e))
}

// Gate is the latest run of a check.
type Gate struct {
	FinishedAt *string  `json:"finished_at"`
	Issues     []string `json:"issues"`
	Name       string   `json:"name"`
	OK         *bool    `json:"ok"`
	Runs       int64    `json:"runs"`
	StartedAt  *string  `json:"started_at"`
}

// IssueStatus of an issue.
type IssueStatus string

// The statuses of an issue.
const (
	IssueOpen       IssueStatus = "OPEN"
	IssueInProgress IssueStatus = "IN_PROGRESS"
	IssueDone       IssueStatus = "RESOLVED"
)

// Issue is something a gate found.
type Issue struct {
	ErrorCode    *string         `json:"error_code"`
	Files        []string        `json:"files"`
	Gate         string          `json:"gate"`
	IssueID      string          `json:"issue_id"`
	Location     json.RawMessage `json:"location"`
	Message      string          `json:"message"`
	OpenedAt     string          `json:"opened_at"`
	ResolvedAt   *string         `json:"resolved_at"`
	Severity     string          `json:"severity"`
	Status       IssueStatus     `json:"status"`
	SuggestedFix *string         `json:"suggested_fix"`
}

// PR is the pull request of a run, or the bundle in its place.
type PR struct {
	Bundle   *string `json:"bundle"`
	OpenedAt string  `json:"opened_at"`
	URL      *string `json:"url"`
}

// Failure is the reason why a run ended early, and the state in which it did: from there it is resumed
// when it is reopened.
type Failure struct {
	Code      string `json:"code"`
	FromState State  `json:"from_state"`
	Message   string `json:"message"`
	TS        string `json:"ts"`
}

// reopensAt returns the stable state in which the run can be reopened after the failure.
func (f Failure) reopensAt() State {
	if to, ok := f.FromState.RewindTo(); ok {
		return to
	}
	return f.FromState
}

// New is the snapshot before the first event.
func New(runID string) Snapshot {
	return Snapshot{RunID: runID, RunState: Created, SchemaVersion: SchemaVersion, Artifacts: []Artifact{}, Gates: []Gate{},
		Issues: []Issue{}, SectionStates: map[string]SectionState{}, WorkItems: []Item{}}
}

// Encode gives the bytes of snapshot.json: sorted keys, two spaces, a line feed
// at the end.
func (s Snapshot) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := s.Write(&b)
	return b.Bytes(), err
}

// Write writes the bytes of snapshot.json.
func (s Snapshot) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return nil
}

// DecodeSnapshot reads what Encode wrote, and nothing else.
func DecodeSnapshot(text []byte) (Snapshot, error) {
	var s Snapshot
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("decode snapshot: %w", err)
	}
	if s.Artifacts == nil || s.Gates == nil || s.Issues == nil || s.SectionStates == nil || s.WorkItems == nil {
		return s, fmt.Errorf("decode snapshot: a list is null")
	}
	if again, err := s.Encode(); err != nil || !bytes.Equal(again, text) {
		return s, fmt.Errorf("decode snapshot: it is not in the form that ramet writes")
	}
	return s, nil
}

// Clone is a copy that shares nothing that Apply changes.
func (s Snapshot) Clone() Snapshot {
	s.Artifacts = slices.Clone(s.Artifacts)
	s.Gates = slices.Clone(s.Gates)
	s.Issues = slices.Clone(s.Issues)
	s.WorkItems = slices.Clone(s.WorkItems)
	s.SectionStates = maps.Clone(s.SectionStates)
	return s
}

// canonicalLocation brings a payload's free part into one form, so that equal events
// give equal snapshots.
func canonicalLocation(raw json.RawMessage) json.RawMessage {
	if out, err := chain.Canonical(raw); err == nil && len(raw) > 0 {
		return out
	}
	return nil
}
