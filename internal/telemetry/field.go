package telemetry

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// How long fields may be, in bytes. Names stand on one line, summaries and details
// may have several.
const (
	MaxName    = 255
	MaxRef     = 4096      // source_ref, target_ref, git_repo
	MaxSummary = 64 << 10  // input_, output_ and error_summary
	MaxDetails = 256 << 10 // error_details
	MaxObject  = 256 << 10 // metrics_json, context_json
)

// field is one of a record, as requests name it.
type field struct {
	name    string
	must    bool // has to be there to create a record
	fixed   bool // stays as it was created
	service bool // made by the service: ignored in a create, refused in a patch
	form    Form
	// read gives what sets the field to a value.
	read func(v jsontext.Value) (func(*Record), *FieldError)
	// empty sets it to nothing, for null; nil: it cannot be nothing.
	empty func(*Record)
}

var fields = sync.OnceValue(func() []field {
	return []field{
		required(idTelemetry("event_id", func(r *Record) *string { return &r.EventID }, readEventID), true),
		required(idTelemetry("run_id", func(r *Record) *string { return &r.RunID }, readRunID), true),
		idTelemetry("parent_run_id", func(r *Record) *string { return &r.ParentRunID }, readRunID),
		required(line("agent_name", MaxName, func(r *Record) *string { return &r.AgentName }), false),
		required(word("job_type", func(r *Record) *JobType { return &r.JobType }, readJobType), true),
		word("status", func(r *Record) *Status { return &r.Status }, readStatus),
		{name: "start_time", must: true, read: func(v jsontext.Value) (func(*Record), *FieldError) {
			t, complaint := readTime(v)
			return func(r *Record) { r.StartTime = t }, complaint
		}},
		moment("end_time", func(r *Record) **time.Time { return &r.EndTime }),
		{name: "created_at", service: true},
		{name: "updated_at", service: true},
		{name: "duration_ms", form: Count, read: func(v jsontext.Value) (func(*Record), *FieldError) {
			n, complaint := readCount(v)
			return func(r *Record) { r.DurationMS = new(n) }, complaint
		}, empty: func(r *Record) { r.DurationMS = nil }},
		line("product", MaxName, func(r *Record) *string { return &r.Product }),
		count("items_discovered", func(r *Record) *int64 { return &r.ItemsDiscovered }),
		count("items_succeeded", func(r *Record) *int64 { return &r.ItemsSucceeded }),
		count("items_failed", func(r *Record) *int64 { return &r.ItemsFailed }),
		count("items_skipped", func(r *Record) *int64 { return &r.ItemsSkipped }),
		lines("input_summary", MaxSummary, func(r *Record) *string { return &r.InputSummary }),
		lines("output_summary", MaxSummary, func(r *Record) *string { return &r.OutputSummary }),
		line("source_ref", MaxRef, func(r *Record) *string { return &r.SourceRef }),
		line("target_ref", MaxRef, func(r *Record) *string { return &r.TargetRef }),
		lines("error_summary", MaxSummary, func(r *Record) *string { return &r.ErrorSummary }),
		lines("error_details", MaxDetails, func(r *Record) *string { return &r.ErrorDetails }),
		line("git_repo", MaxRef, func(r *Record) *string { return &r.GitRepo }),
		line("git_branch", MaxName, func(r *Record) *string { return &r.GitBranch }),
		idTelemetry("git_commit_hash", func(r *Record) *string { return &r.GitCommitHash }, readCommit),
		line("git_commit_source", MaxName, func(r *Record) *string { return &r.GitCommitSource }),
		line("git_commit_author", MaxName, func(r *Record) *string { return &r.GitCommitAuthor }),
		moment("git_commit_timestamp", func(r *Record) **time.Time { return &r.GitCommitTimestamp }),
		line("git_run_tag", MaxName, func(r *Record) *string { return &r.GitRunTag }),
		line("host", MaxName, func(r *Record) *string { return &r.Host }),
		line("environment", MaxName, func(r *Record) *string { return &r.Environment }),
		line("trigger_type", MaxName, func(r *Record) *string { return &r.TriggerType }),
		object("metrics_json", func(r *Record) *json.RawMessage { return &r.Metrics }),
		object("context_json", func(r *Record) *json.RawMessage { return &r.Context }),
	}
})

// Form is what a field takes beyond what the type of the record's field says.
type Form string

// The forms.
const (
	Count  Form = "count"  // a whole number, not negative
	Object Form = "object" // an object, or a string that holds one
)

// Input is a field as clients send it, for those who describe requests.
type Input struct {
	Name    string
	Must    bool // it has to be there to create a record
	Fixed   bool // it stays as it was created
	Service bool // the service makes it: ignored in a create, refused in a patch
	Empties bool // null empties it in a patch
	Form    Form // empty: as the record has it
}

// Inputs are all fields that requests may name.
func Inputs() []Input {
	out := make([]Input, len(fields()))
	for i, f := range fields() {
		out[i] = Input{f.name, f.must, f.fixed, f.service, f.empty != nil, f.form}
	}
	return out
}

var byName = sync.OnceValue(func() map[string]*field {
	out := map[string]*field{}
	for i := range fields() {
		out[fields()[i].name] = &fields()[i]
	}
	return out
})

// required is a field without which there is no record. A fixed one never changes.
func required(f field, fixed bool) field {
	read := f.read
	f.must, f.fixed, f.empty = true, fixed, nil
	f.read = func(v jsontext.Value) (func(*Record), *FieldError) {
		if string(v) == `""` {
			return nil, wrong("must not be empty")
		}
		return read(v)
	}
	return f
}

// idTelemetry is a field whose values have a form; the empty string is nothing.
func idTelemetry(name string, at func(*Record) *string, read func(string) (string, *FieldError)) field {
	f := line(name, MaxName, at)
	line := f.read
	f.read = func(v jsontext.Value) (func(*Record), *FieldError) {
		if _, complaint := line(v); complaint != nil || string(v) == `""` {
			return f.empty, complaint
		}
		s, complaint := readString(v)
		if complaint == nil {
			s, complaint = read(s)
		}
		return func(r *Record) { *at(r) = s }, complaint
	}
	return f
}

func word[T ~string](name string, at func(*Record) *T, read func(string) (T, *FieldError)) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		s, complaint := readLine(v, MaxName)
		if complaint != nil {
			return nil, complaint
		}
		w, complaint := read(s)
		return func(r *Record) { *at(r) = w }, complaint
	}}
}

func line(name string, limit int, at func(*Record) *string) field {
	return textTelemetry(name, limit, at, readLine)
}

func lines(name string, limit int, at func(*Record) *string) field {
	return textTelemetry(name, limit, at, readText)
}

func textTelemetry(name string, limit int, at func(*Record) *string, read func(jsontext.Value, int) (string, *FieldError)) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		s, complaint := read(v, limit)
		return func(r *Record) { *at(r) = s }, complaint
	}, empty: func(r *Record) { *at(r) = "" }}
}

func count(name string, at func(*Record) *int64) field {
	return field{name: name, form: Count, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		n, complaint := readCount(v)
		return func(r *Record) { *at(r) = n }, complaint
	}, empty: func(r *Record) { *at(r) = 0 }}
}

func moment(name string, at func(*Record) **time.Time) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		t, complaint := readTime(v)
		return func(r *Record) { *at(r) = &t }, complaint
	}, empty: func(r *Record) { *at(r) = nil }}
}

func object(name string, at func(*Record) *json.RawMessage) field {
	return field{name: name, form: Object, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		text, complaint := readObject(v, MaxObject)
		return func(r *Record) { *at(r) = text }, complaint
	}, empty: func(r *Record) { *at(r) = nil }}
}
