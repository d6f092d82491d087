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

// field describes a field of a record, as requests name it.
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
		requiredField(idField("event_id", func(r *Record) *string { return &r.EventID }, readEventID), true),
		requiredField(idField("run_id", func(r *Record) *string { return &r.RunID }, readRunID), true),
		idField("parent_run_id", func(r *Record) *string { return &r.ParentRunID }, readRunID),
		requiredField(lineField("agent_name", MaxName, func(r *Record) *string { return &r.AgentName }), false),
		requiredField(wordField("job_type", func(r *Record) *JobType { return &r.JobType }, readJobType), true),
		wordField("status", func(r *Record) *Status { return &r.Status }, readStatus),
		{name: "start_time", must: true, read: func(v jsontext.Value) (func(*Record), *FieldError) {
			t, complaint := readTime(v)
			return func(r *Record) { r.StartTime = t }, complaint
		}},
		timeField("end_time", func(r *Record) **time.Time { return &r.EndTime }),
		{name: "created_at", service: true},
		{name: "updated_at", service: true},
		{name: "duration_ms", form: Count, read: func(v jsontext.Value) (func(*Record), *FieldError) {
			n, complaint := readCount(v)
			return func(r *Record) { r.DurationMS = new(n) }, complaint
		}, empty: func(r *Record) { r.DurationMS = nil }},
		lineField("product", MaxName, func(r *Record) *string { return &r.Product }),
		countField("items_discovered", func(r *Record) *int64 { return &r.ItemsDiscovered }),
		countField("items_succeeded", func(r *Record) *int64 { return &r.ItemsSucceeded }),
		countField("items_failed", func(r *Record) *int64 { return &r.ItemsFailed }),
		countField("items_skipped", func(r *Record) *int64 { return &r.ItemsSkipped }),
		linesField("input_summary", MaxSummary, func(r *Record) *string { return &r.InputSummary }),
		linesField("output_summary", MaxSummary, func(r *Record) *string { return &r.OutputSummary }),
		lineField("source_ref", MaxRef, func(r *Record) *string { return &r.SourceRef }),
		lineField("target_ref", MaxRef, func(r *Record) *string { return &r.TargetRef }),
		linesField("error_summary", MaxSummary, func(r *Record) *string { return &r.ErrorSummary }),
		linesField("error_details", MaxDetails, func(r *Record) *string { return &r.ErrorDetails }),
		lineField("git_repo", MaxRef, func(r *Record) *string { return &r.GitRepo }),
		lineField("git_branch", MaxName, func(r *Record) *string { return &r.GitBranch }),
		idField("git_commit_hash", func(r *Record) *string { return &r.GitCommitHash }, readCommit),
		lineField("git_commit_source", MaxName, func(r *Record) *string { return &r.GitCommitSource }),
		lineField("git_commit_author", MaxName, func(r *Record) *string { return &r.GitCommitAuthor }),
		timeField("git_commit_timestamp", func(r *Record) **time.Time { return &r.GitCommitTimestamp }),
		lineField("git_run_tag", MaxName, func(r *Record) *string { return &r.GitRunTag }),
		lineField("host", MaxName, func(r *Record) *string { return &r.Host }),
		lineField("environment", MaxName, func(r *Record) *string { return &r.Environment }),
		lineField("trigger_type", MaxName, func(r *Record) *string { return &r.TriggerType }),
		objectField("metrics_json", func(r *Record) *json.RawMessage { return &r.Metrics }),
		objectField("context_json", func(r *Record) *json.RawMessage { return &r.Context }),
	}
})

// Form is a restriction of a field beyond the type that it has in the record.
type Form string

// The forms.
const (
	Count  Form = "count"  // a whole number, not negative
	Object Form = "object" // an object, or a string that contains one
)

// Input is a field as clients send it, for descriptions of requests.
type Input struct {
	Name    string
	Must    bool // it has to be there to create a record
	Fixed   bool // it stays as it was created
	Service bool // the service makes it: ignored in a create, refused in a patch
	Empties bool // null empties it in a patch
	Form    Form // empty: as the record has it
}

// Inputs returns all fields that requests may name.
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

// requiredField returns a field without which there is no record. A fixed one never changes.
func requiredField(f field, fixed bool) field {
	read := f.read
	f.must, f.fixed, f.empty = true, fixed, nil
	f.read = func(v jsontext.Value) (func(*Record), *FieldError) {
		if string(v) == `""` {
			return nil, complain("must not be empty")
		}
		return read(v)
	}
	return f
}

// idField returns a field whose values have a form; the empty string counts as no value.
func idField(name string, at func(*Record) *string, read func(string) (string, *FieldError)) field {
	f := lineField(name, MaxName, at)
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

func wordField[T ~string](name string, at func(*Record) *T, read func(string) (T, *FieldError)) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		s, complaint := readLine(v, MaxName)
		if complaint != nil {
			return nil, complaint
		}
		w, complaint := read(s)
		return func(r *Record) { *at(r) = w }, complaint
	}}
}

func lineField(name string, limit int, at func(*Record) *string) field {
	return textField(name, limit, at, readLine)
}

func linesField(name string, limit int, at func(*Record) *string) field {
	return textField(name, limit, at, readText)
}

func textField(name string, limit int, at func(*Record) *string, read func(jsontext.Value, int) (string, *FieldError)) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		s, complaint := read(v, limit)
		return func(r *Record) { *at(r) = s }, complaint
	}, empty: func(r *Record) { *at(r) = "" }}
}

func countField(name string, at func(*Record) *int64) field {
	return field{name: name, form: Count, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		n, complaint := readCount(v)
		return func(r *Record) { *at(r) = n }, complaint
	}, empty: func(r *Record) { *at(r) = 0 }}
}

func timeField(name string, at func(*Record) **time.Time) field {
	return field{name: name, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		t, complaint := readTime(v)
		return func(r *Record) { *at(r) = &t }, complaint
	}, empty: func(r *Record) { *at(r) = nil }}
}

func objectField(name string, at func(*Record) *json.RawMessage) field {
	return field{name: name, form: Object, read: func(v jsontext.Value) (func(*Record), *FieldError) {
		text, complaint := readObject(v, MaxObject)
		return func(r *Record) { *at(r) = text }, complaint
	}, empty: func(r *Record) { *at(r) = nil }}
}
