package ledger

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Entry is one sub-agent as the file tells it. A field that is missing there, or has
// another type than ours, is the zero value here and stays in the file.
type Entry struct {
	ID          string
	Type        string
	Description string
	Plan        string
	Group       string
	At          time.Time // registered
	Status      Status
	EndedAt     time.Time // completed, failed, timed out or interrupted
	Resumes     string    // the id of the entry that this one goes on for
	ResumedBy   string
	Owner       *Owner
	Minutes     float64 // allowed; 0 is no limit
	Reason      string
	Recovered   bool // made from a summary, after the file was lost

	raw []byte
	at  int // the place in the file
}

// Owner is the process that looks after a sub-agent.
type Owner struct {
	Host  string
	PID   int
	Start string // when that process began, in words of its system
}

// The keys of an entry.
const (
	keyID, keyType, keyDescription   = "agent_id", "agent_type", "task_description"
	keyPlan, keyGroup, keyAt         = "plan", "task_group", "timestamp"
	keyStatus, keyEnded              = "status", "completion_timestamp"
	keyResumes, keyResumedBy         = "resumes", "resumed_by"
	keyOwner, keyMinutes             = "owner", "timeout_minutes"
	keyReason, keyRecovered          = "reason", "recovered"
	keyHost, keyPID, keyStart        = "host", "pid", "pid_start_time"
	keyVersion, keyLimit, keyEntries = "version", "max_entries", "entries"
)

// Overdue reports whether the time that the entry was allowed is over.
func (e Entry) Overdue(now time.Time) bool {
	due, limited := e.Due()
	return e.Status == Spawned && limited && now.After(due)
}

// MaxMinutes is the longest limit, some two hundred years: a longer one is none.
const MaxMinutes = 1e8

// Due is when the time of the entry is over, if it has a limit.
func (e Entry) Due() (time.Time, bool) {
	if e.At.IsZero() || !(e.Minutes > 0) || e.Minutes > MaxMinutes {
		return time.Time{}, false
	}
	return e.At.Add(time.Duration(e.Minutes * float64(time.Minute))), true
}

// Extra returns the members that others wrote into the entry, in order.
func (e Entry) Extra() []Member {
	o, err := ObjectOf(e.raw)
	if err != nil {
		return nil
	}
	var out []Member
	for _, m := range o.Members {
		if !ours[m.Key] {
			out = append(out, m)
		}
	}
	return out
}

// Field is an extra field of ours or another's whose value is a text.
func (e Entry) Field(key string) string {
	o, err := ObjectOf(e.raw)
	if err != nil {
		return ""
	}
	raw, _ := o.Get(key)
	s, _ := ParseJSONText(raw)
	return s
}

var ours = map[string]bool{keyID: true, keyType: true, keyDescription: true, keyPlan: true, keyGroup: true, keyAt: true,
	keyStatus: true, keyEnded: true, keyResumes: true, keyResumedBy: true, keyOwner: true, keyMinutes: true,
	keyReason: true, keyRecovered: true}

// readEntry takes an entry from its text.
func readEntry(raw []byte, at int) (Entry, bool) {
	e := Entry{raw: raw, at: at}
	if !IsJSONObject(raw) {
		return e, false
	}
	o, err := ObjectOf(raw)
	for _, m := range o.Members {
		e.take(m)
	}
	return e, err == nil
}

// take reads one member.
func (e *Entry) take(m Member) {
	words, _ := ParseJSONText(m.Raw)
	switch m.Key {
	case keyOwner:
		e.Owner = readOwner(m.Raw)
	case keyMinutes:
		if n, err := strconv.ParseFloat(string(m.Raw), 64); err == nil { // no number is no limit
			e.Minutes = n
		}
	case keyRecovered:
		e.Recovered = string(m.Raw) == "true"
	case keyStatus:
		e.Status = Status(words)
	case keyID:
		e.ID = words
	case keyType:
		e.Type = words
	case keyDescription:
		e.Description = words
	case keyPlan:
		e.Plan = words
	case keyGroup:
		e.Group = words
	case keyResumes:
		e.Resumes = words
	case keyResumedBy:
		e.ResumedBy = words
	case keyReason:
		e.Reason = words
	case keyAt:
		e.At = parseTime(words)
	case keyEnded:
		e.EndedAt = parseTime(words)
	}
}

func readOwner(raw []byte) *Owner {
	o, err := ObjectOf(raw)
	if err != nil {
		return nil
	}
	host, _ := o.Get(keyHost)
	pid, _ := o.Get(keyPID)
	start, _ := o.Get(keyStart)
	var out Owner
	out.Host, _ = ParseJSONText(host)
	out.PID, _ = strconv.Atoi(string(pid))
	out.Start, _ = ParseJSONText(start)
	if out.Host == "" || out.PID <= 0 {
		return nil // nobody can be asked
	}
	return &out
}

// parseTime reads a time as any tool writes it; zero if it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// text is the entry as it stands in the file. What it was before keeps its members
// and their order; ours that are new go to the end.
func (e Entry) text(extra []Member) []byte {
	var o Object
	old, known := Entry{}, false
	if e.raw != nil {
		o, _ = ObjectOf(e.raw)
		old, known = readEntry(e.raw, e.at)
	}
	put := func(key string, changed, always bool, raw []byte) {
		if changed || always && !known {
			o.Set(key, raw)
		}
	}
	str := func(key, before, after string, always bool) {
		put(key, before != after, always, QuoteJSON(after))
	}
	when := func(key string, before, after time.Time) {
		raw := []byte("null")
		if !after.IsZero() {
			raw = QuoteJSON(after.UTC().Format(layout))
		}
		put(key, !before.Equal(after), true, raw)
	}
	str(keyID, old.ID, e.ID, true)
	str(keyType, old.Type, e.Type, false)
	str(keyDescription, old.Description, e.Description, true)
	str(keyPlan, old.Plan, e.Plan, false)
	str(keyGroup, old.Group, e.Group, false)
	when(keyAt, old.At, e.At)
	str(keyStatus, string(old.Status), string(e.Status), true)
	when(keyEnded, old.EndedAt, e.EndedAt)
	str(keyResumes, old.Resumes, e.Resumes, false)
	str(keyResumedBy, old.ResumedBy, e.ResumedBy, false)
	if !known && e.Owner != nil {
		o.Set(keyOwner, e.Owner.text())
	}
	put(keyMinutes, old.Minutes != e.Minutes, false, strconv.AppendFloat(nil, e.Minutes, 'f', -1, 64))
	str(keyReason, old.Reason, e.Reason, false)
	put(keyRecovered, old.Recovered != e.Recovered, false, []byte("true"))
	for _, m := range extra {
		o.Set(m.Key, m.Raw)
	}
	return o.Append(nil, entryDepth)
}

// entryDepth is the depth of an entry in the document.
const entryDepth = 2

func (o Owner) text() []byte {
	return Object{Members: []Member{
		{Key: keyHost, Raw: QuoteJSON(o.Host)},
		{Key: keyPID, Raw: strconv.AppendInt(nil, int64(o.PID), 10)},
		{Key: keyStart, Raw: QuoteJSON(o.Start)},
	}}.Append(nil, entryDepth+1)
}

// MarshalJSON is the owner as in the file.
func (o Owner) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{keyHost: o.Host, keyPID: o.PID, keyStart: o.Start})
}

// Status is the state of an entry. Other tools may write others than these; they
// are kept, and nothing is done to them.
type Status string

const (
	Spawned     Status = "spawned"     // started, under way
	Completed   Status = "completed"   // ended well
	Interrupted Status = "interrupted" // stopped in the middle
	Resumed     Status = "resumed"     // was interrupted, and another entry continues it
	Failed      Status = "failed"      // ended in an error
	Timeout     Status = "timeout"     // used up its time
)

var known = []Status{Spawned, Completed, Interrupted, Resumed, Failed, Timeout}

// Statuses returns all that ramet knows.
func Statuses() []Status { return slices.Clone(known) }

// Next lists where a status may go; nowhere for one that is final or unknown.
func (s Status) Next() []Status {
	switch s {
	case Spawned:
		return []Status{Completed, Failed, Timeout, Interrupted}
	case Interrupted:
		return []Status{Resumed, Failed}
	}
	return nil
}

// Known reports whether it is one of ours.
func (s Status) Known() bool { return slices.Contains(known, s) }

// Live reports whether the status can still change.
func (s Status) Live() bool { return len(s.Next()) > 0 }

// Finished reports whether the work has ended, well or not.
func (s Status) Finished() bool { return s == Completed || s == Failed || s == Timeout }

// illegalStep returns the refusal of a step.
func illegalStep(e Entry, to Status) *fault.Error {
	f := fault.New(fault.IllegalTransition, "%s is %s and does not become %s", e.ID, e.Status, to)
	switch next := e.Status.Next(); {
	case len(next) > 0:
		words := make([]string, len(next))
		for i, s := range next {
			words[i] = string(s)
		}
		return f.WithHint("legal from %s: %s", e.Status, strings.Join(words, ", "))
	case e.Status == Resumed && e.ResumedBy != "":
		return f.WithHint("%s continues it; legal from %s: nothing", e.ResumedBy, e.Status)
	case e.Status.Known():
		return f.WithHint("%s is final; legal from it: nothing", e.Status)
	}
	return f.WithHint("ramet does not know this status; legal from it: nothing")
}

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

// Show returns an entry as it is shown.
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
