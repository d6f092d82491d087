package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Entry is a sub-agent in the file. A field that is missing there, or has another type than ours, is the zero value
// here and stays in the file.
type Entry struct {
	ID          string
	Type        string
	Description string
	Plan        string
	Group       string
	At          time.Time // registered
	Status      Status
	EndedAt     time.Time // completed, failed, timed out or interrupted
	Resumes     string    // the id of the entry that this one continues
	ResumedBy   string
	Owner       *Owner
	Minutes     float64 // allowed; 0 is no limit
	Reason      string
	Recovered   bool // made from a summary, after the file was lost

	raw []byte
	at  int // the place in the file
}

// Owner is the process in which a sub-agent runs.
type Owner struct {
	Host  string
	PID   int
	Start string // when that process began, in a format of its system
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

// Overdue reports whether the entry is past its timeout.
func (e Entry) Overdue(now time.Time) bool {
	due, limited := e.Due()
	return e.Status == Spawned && limited && now.After(due)
}

// MaxMinutes limits timeouts, to some two hundred years: a longer one is none.
const MaxMinutes = 1e8

// Due returns the end of the entry's time, and whether it has a timeout.
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
		if _, ours := fieldOf(m.Key); !ours {
			out = append(out, m)
		}
	}
	return out
}

// Field returns the text of any member.
func (e Entry) Field(key string) string {
	o, err := ObjectOf(e.raw)
	if err != nil {
		return ""
	}
	raw, _ := o.Get(key)
	s, _ := ParseJSONText(raw)
	return s
}

// entryFields lists our members of an entry, in the order of a new one.
var entryFields = []entryField{
	textField(keyID, true, func(e *Entry) *string { return &e.ID }),
	textField(keyType, false, func(e *Entry) *string { return &e.Type }),
	textField(keyDescription, true, func(e *Entry) *string { return &e.Description }),
	textField(keyPlan, false, func(e *Entry) *string { return &e.Plan }),
	textField(keyGroup, false, func(e *Entry) *string { return &e.Group }),
	timeField(keyAt, func(e *Entry) *time.Time { return &e.At }),
	textField(keyStatus, true, func(e *Entry) *string { return (*string)(&e.Status) }),
	timeField(keyEnded, func(e *Entry) *time.Time { return &e.EndedAt }),
	textField(keyResumes, false, func(e *Entry) *string { return &e.Resumes }),
	textField(keyResumedBy, false, func(e *Entry) *string { return &e.ResumedBy }),
	{keyOwner, false, func(e *Entry, raw []byte) { e.Owner = readOwner(raw) }, func(e *Entry) []byte { return e.Owner.format() }},
	{keyMinutes, false, readMinutes, func(e *Entry) []byte { return strconv.AppendFloat(nil, e.Minutes, 'f', -1, 64) }},
	textField(keyReason, false, func(e *Entry) *string { return &e.Reason }),
	{keyRecovered, false, func(e *Entry, raw []byte) { e.Recovered = string(raw) == "true" }, func(e *Entry) []byte { return strconv.AppendBool(nil, e.Recovered) }},
}

// entryField reads and writes a member of an entry.
type entryField struct {
	key    string
	always bool // a new entry has it even if it is empty
	read   func(e *Entry, raw []byte)
	format func(e *Entry) []byte
}

func textField(key string, always bool, at func(*Entry) *string) entryField {
	return entryField{key, always,
		func(e *Entry, raw []byte) { *at(e), _ = ParseJSONText(raw) },
		func(e *Entry) []byte { return QuoteJSON(*at(e)) }}
}

func timeField(key string, at func(*Entry) *time.Time) entryField {
	return entryField{key, true,
		func(e *Entry, raw []byte) {
			s, _ := ParseJSONText(raw)
			*at(e) = parseTime(s)
		},
		func(e *Entry) []byte {
			if at(e).IsZero() {
				return []byte("null")
			}
			return QuoteJSON(at(e).UTC().Format(layout))
		}}
}

// readMinutes reads a limit. A value that is no number is no limit.
func readMinutes(e *Entry, raw []byte) {
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil {
		e.Minutes = n
	}
}

// fieldOf returns the field of a key; false if the member is not ours.
func fieldOf(key string) (entryField, bool) {
	for _, f := range entryFields {
		if f.key == key {
			return f, true
		}
	}
	return entryField{}, false
}

func readEntry(raw []byte, at int) (Entry, bool) {
	e := Entry{raw: raw, at: at}
	if !IsJSONObject(raw) {
		return e, false
	}
	for key, value := range splitJSON(raw) {
		if f, ours := fieldOf(key); ours {
			f.read(&e, value)
		}
	}
	return e, true
}

func readOwner(raw []byte) *Owner {
	if !IsJSONObject(raw) {
		return nil
	}
	var out Owner
	for key, value := range splitJSON(raw) {
		switch key {
		case keyHost:
			out.Host, _ = ParseJSONText(value)
		case keyPID:
			out.PID, _ = strconv.Atoi(string(value))
		case keyStart:
			out.Start, _ = ParseJSONText(value)
		}
	}
	if out.Host == "" || out.PID <= 0 {
		return nil // no process that can be looked for
	}
	return &out
}

// parseTime reads a time as any tool writes it; the zero time if it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// text returns the text of the entry in the file. The members that it had keep their order and spelling; our new ones
// go to the end.
func (e Entry) text(extra []Member) []byte {
	var o Object
	old, known := Entry{}, false
	if e.raw != nil {
		o, _ = ObjectOf(e.raw)
		old, known = readEntry(e.raw, e.at)
	}
	for _, f := range entryFields {
		if raw := f.format(&e); !bytes.Equal(raw, f.format(&old)) || f.always && !known {
			o.Set(f.key, raw)
		}
	}
	for _, m := range extra {
		o.Set(m.Key, m.Raw)
	}
	return o.Append(nil, entryDepth)
}

// entryDepth is the depth of an entry in the document.
const entryDepth = 2

// format returns the owner as text, or nil without one.
func (o *Owner) format() []byte {
	if o == nil {
		return nil
	}
	return Object{Members: []Member{
		{Key: keyHost, Raw: QuoteJSON(o.Host)},
		{Key: keyPID, Raw: strconv.AppendInt(nil, int64(o.PID), 10)},
		{Key: keyStart, Raw: QuoteJSON(o.Start)},
	}}.Append(nil, entryDepth+1)
}

// MarshalJSON returns the owner with the keys of the file.
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

// Statuses returns all statuses that ramet knows.
func Statuses() []Status { return slices.Clone(known) }

// Next lists the statuses that may follow; none for one that is final or unknown.
func (s Status) Next() []Status {
	switch s {
	case Spawned:
		return []Status{Completed, Failed, Timeout, Interrupted}
	case Interrupted:
		return []Status{Resumed, Failed}
	}
	return nil
}

// Known reports whether the status is one of ours.
func (s Status) Known() bool { return slices.Contains(known, s) }

// Live reports whether the status can still change.
func (s Status) Live() bool { return len(s.Next()) > 0 }

// Finished reports whether the work has ended, well or not.
func (s Status) Finished() bool { return s == Completed || s == Failed || s == Timeout }

// illegalStep returns the error of a step that is not allowed.
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

// Shown is an entry as ramet shows it. Its JSON is public (docs/json.md, TRACKED); absent members are null.
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

// Show returns the entry as ramet shows it.
func (e Entry) Show(gone string, outcome Status) Shown {
	extra := text.JSON(strings.ToValidUTF8(string(Object{Members: e.Extra()}.Append(nil, 0)), "\uFFFD"))
	return Shown{e.ID, orNil(e.Type), e.Description, orNil(e.Plan), orNil(e.Group), orNil(shownTime(e.At)), e.Status,
		orNil(shownTime(e.EndedAt)), orNil(e.Resumes), orNil(e.ResumedBy), e.Owner, orNil(e.Minutes),
		orNil(e.Reason), e.Recovered, orNil(gone), outcome, json.RawMessage(extra)}
}

// Shower returns a function that shows entries of the sheet. judge finds spawned ones that are gone.
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

// Member is one key of an object with its value as text.
type Member struct {
	Key string
	Raw []byte
}

// Object is a JSON object in the order of its keys. Of a key that appears twice the last one counts, as for other
// readers.
type Object struct{ Members []Member }

// lenient are the options for JSON that other tools wrote.
var lenient = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

var errNoObject = errors.New("it is not JSON object")

// ParseObject reads a whole document, which must be one object. A byte order mark before
// it is dropped.
func ParseObject(data []byte) (Object, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !jsontext.Value(data).IsValid(lenient...) {
		return Object{}, syntaxError(data)
	}
	return ObjectOf(bytes.TrimSpace(data))
}

// syntaxError reports the place where a text stops being JSON.
func syntaxError(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	var v any
	err := json.Unmarshal(data, &v)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON at byte %d: %w", at.Offset, err)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// ObjectOf splits a value that is known to be valid JSON.
func ObjectOf(raw []byte) (Object, error) {
	if !IsJSONObject(raw) {
		return Object{}, errNoObject
	}
	var o Object
	for key, value := range splitJSON(raw) {
		o.Members = append(o.Members, Member{key, value})
	}
	return o, nil
}

// IsJSONObject reports whether a value that is known to be valid JSON is an object.
func IsJSONObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// ParseJSONList splits an array that is known to be valid JSON.
func ParseJSONList(raw []byte) ([][]byte, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("it is not JSON array")
	}
	var elements [][]byte
	for _, value := range splitJSON(raw) {
		elements = append(elements, value)
	}
	return elements, nil
}

// splitJSON returns the elements of an array, or the members of an object with their keys, as they are written. It stops
// at invalid JSON.
func splitJSON(raw []byte) iter.Seq2[string, []byte] {
	return func(yield func(key string, value []byte) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
		open, _ := dec.ReadToken()
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			key := ""
			if open.Kind() == '{' {
				name, _ := dec.ReadToken()
				key = name.String()
			}
			value, err := dec.ReadValue() // which returns the errors of the tokens before it, too
			end := int(dec.InputOffset())
			if err != nil || !yield(key, raw[end-len(value):end:end]) { // the decoder's own slice does not last
				return
			}
		}
	}
}

// ParseJSONText returns the text of a value that is a string.
func ParseJSONText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	s, _ := jsontext.AppendUnquote(nil, raw) // the error is about bytes that are not UTF-8, which it replaces
	return string(s), true
}

// Get returns the value of a key.
func (o Object) Get(key string) ([]byte, bool) {
	for _, m := range slices.Backward(o.Members) {
		if m.Key == key {
			return m.Raw, true
		}
	}
	return nil, false
}

// Set replaces the value of a key in its place, or adds it at the end.
func (o *Object) Set(key string, raw []byte) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			o.Members[i].Raw = raw
			return
		}
	}
	o.Members = append(o.Members, Member{key, raw})
}

// Delete removes every member with a key.
func (o *Object) Delete(key string) {
	o.Members = slices.DeleteFunc(slices.Clone(o.Members), func(m Member) bool { return m.Key == key })
}

// Append appends the object, indented for a place depth levels inside a document.
func (o Object) Append(out []byte, depth int) []byte {
	if len(o.Members) == 0 {
		return append(out, "{}"...)
	}
	out = append(out, '{')
	for i, m := range o.Members {
		out = appendLine(out, i, depth+1)
		out = append(append(out, QuoteJSON(m.Key)...), ": "...)
		out = append(out, m.Raw...)
	}
	return append(appendLine(out, 0, depth), '}')
}

// AppendJSONList appends an array in the same way.
func AppendJSONList(out []byte, elements [][]byte, depth int) []byte {
	if len(elements) == 0 {
		return append(out, "[]"...)
	}
	out = appendLine(append(out, '['), 0, depth+1)
	out = append(out, bytes.Join(elements, appendLine(nil, 1, depth+1))...)
	return append(appendLine(out, 0, depth), ']')
}

// appendLine begins the line of the n-th element.
func appendLine(out []byte, n, depth int) []byte {
	if n > 0 {
		out = append(out, ',')
	}
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

// QuoteJSON returns a string as JSON, without the escapes that only HTML needs.
func QuoteJSON(s string) []byte {
	out, _ := jsontext.AppendQuote(nil, s) // the error is about bytes that are not UTF-8, which it replaces
	return out
}
