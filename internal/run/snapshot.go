package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// Snapshot is the state of a run after some of its events. It is a cache: always equal to
// the replay of its first EventCount events. The fields are in the order of
// their names, so that encoding gives sorted keys.
type Snapshot struct {
	Artifacts     []Artifact              `json:"artifacts" doc:"The latest write of each name, sorted by name."`
	CreatedAt     string                  `json:"created_at" form:"moment"`
	EventCount    int64                   `json:"event_count" form:"positive"`
	Failure       *Failure                `json:"failure"`
	Gates         []Gate                  `json:"gates" doc:"The latest run of each gate, sorted by name."`
	Issues        []Issue                 `json:"issues" doc:"In the order they were opened."`
	LastEventHash string                  `json:"last_event_hash" form:"hash"`
	PR            *PR                     `json:"pr"`
	RunID         string                  `json:"run_id" form:"run"`
	RunState      State                   `json:"run_state"`
	SchemaVersion string                  `json:"schema_version" form:"version"`
	SectionStates map[string]SectionState `json:"section_states"`
	UpdatedAt     string                  `json:"updated_at" form:"moment"`
	WorkItems     []Item                  `json:"work_items" doc:"In the order they were queued."`
}

// SchemaVersion of the snapshots that this version writes.
const SchemaVersion = "1"

// Artifact is a file that a run wrote; the latest write of a name wins.
type Artifact struct {
	Name         string  `json:"name"`
	Path         string  `json:"path"`
	SchemaID     string  `json:"schema_id"`
	SHA256       string  `json:"sha256" form:"hash"`
	TS           string  `json:"ts" form:"moment"`
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
	Attempt        int64      `json:"attempt" form:"positive"`
	Effect         *string    `json:"effect" form:"effect"`
	Error          *ItemError `json:"error"`
	FinishedAt     *string    `json:"finished_at" form:"moment"`
	IdempotencyKey *string    `json:"idempotency_key"`
	Inputs         []File     `json:"inputs"`
	Outputs        []File     `json:"outputs"`
	Retryable      *bool      `json:"retryable"`
	ScopeKey       string     `json:"scope_key"`
	StartedAt      *string    `json:"started_at" form:"moment"`
	Status         Status     `json:"status"`
	WorkItemID     string     `json:"work_item_id" doc:"{run_id}:{worker}:{attempt}:{scope_key}"`
	Worker         string     `json:"worker"`
}

// External reports whether the item changes the world outside the run.
func (w Item) External() bool { return w.Effect != nil && *w.Effect == EffectExternal }

// File goes into or comes out of a work item. In events it may also be a bare
// string, its path.
type File struct {
	Name   *string `json:"name"`
	Path   string  `json:"path"`
	SHA256 *string `json:"sha256" form:"hash"`
}

// UnmarshalJSON also reads a bare path.
func (f *File) UnmarshalJSON(b []byte) error {
	type plain File
	return decodeEither(b, (*plain)(f), &f.Path)
}

// decodeEither reads an object into all, which is emptied, or a bare string into text, one of its members.
func decodeEither[T any](b []byte, all *T, text *string) error {
	if b[0] == '"' {
		*all = *new(T)
		return json.Unmarshal(b, text)
	}
	return json.Unmarshal(b, all)
}

// ItemError is the reason why a work item failed. In events it may also be a bare string.
type ItemError struct {
	Code    string `json:"code"`
	Message string `json:"message" form:"text"`
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
	FinishedAt *string  `json:"finished_at" form:"moment"`
	Issues     []string `json:"issues"`
	Name       string   `json:"name"`
	OK         *bool    `json:"ok"`
	Runs       int64    `json:"runs" form:"positive"`
	StartedAt  *string  `json:"started_at" form:"moment"`
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
	Files        []string        `json:"files" form:"name?"`
	Gate         string          `json:"gate"`
	IssueID      string          `json:"issue_id"`
	Location     json.RawMessage `json:"location" doc:"Where in the files, in the gate's own words; null: nowhere in particular."`
	Message      string          `json:"message" form:"text"`
	OpenedAt     string          `json:"opened_at" form:"moment"`
	ResolvedAt   *string         `json:"resolved_at" form:"moment"`
	Severity     string          `json:"severity" form:"severity"`
	Status       IssueStatus     `json:"status"`
	SuggestedFix *string         `json:"suggested_fix" form:"text"`
}

// PR is the pull request of a run, or the bundle in its place.
type PR struct {
	Bundle   *string `json:"bundle"`
	OpenedAt string  `json:"opened_at" form:"moment"`
	URL      *string `json:"url"`
}

// Failure is the reason why a run ended early, and the state in which it did: from there it is resumed
// when it is reopened.
type Failure struct {
	Code      string `json:"code"`
	FromState State  `json:"from_state" doc:"The state in which it came."`
	Message   string `json:"message" form:"text"`
	TS        string `json:"ts" form:"moment"`
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

// Stable reports whether a resume can continue from this state as it is: no work is going on in it.
func (s State) Stable() bool { return !s.Terminal() && rewinds[s] == "" }

// RewindTo returns the stable state that a resume steps back to.
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

// SectionPath returns the shortest way from one state of a section to another, without the
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

func joinWords[S ~string](list []S) string { return strings.Join(asStrings(list), ", ") }
