package telemetry

import (
	"encoding/json"
	"net/http"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// Delivery is one request to the telemetry service: the creation of a record (POST), or
// a change of one (PATCH).
type Delivery struct {
	Method  string
	EventID string
	Body    []byte // RFC 8785 form
}

// Collection is the path under which records are created.
const Collection = "/api/v1/runs"

// Path is where the request goes.
func (d Delivery) Path() string {
	if d.Method == http.MethodPost {
		return Collection
	}
	return Collection + "/" + d.EventID
}

// record is what is remembered of one that was created.
type record struct {
	eventID string
	runID   string
	span    string
	start   time.Time
	ended   bool
}

// create is the delivery of a new record. Texts are cut to what a record holds.
func create(r Record) Delivery {
	r.AgentName = lineFollow(r.AgentName, MaxName)
	if r.AgentName == "" {
		r.AgentName = "unknown"
	}
	r.Product = lineFollow(r.Product, MaxName)
	r.Host = lineFollow(r.Host, MaxName)
	r.Environment = lineFollow(r.Environment, MaxName)
	r.TriggerType = lineFollow(r.TriggerType, MaxName)
	r.InputSummary = linesFollow(r.InputSummary, MaxSummary)
	r.OutputSummary = linesFollow(r.OutputSummary, MaxSummary)
	r.ErrorSummary = linesFollow(r.ErrorSummary, MaxSummary)
	r.ErrorDetails = linesFollow(r.ErrorDetails, MaxDetails)
	body, err := FormatNew(r)
	if err != nil {
		panic("follow: a record that cannot be encoded: " + err.Error()) // it is all ours
	}
	return Delivery{http.MethodPost, r.EventID, body}
}

// followFields are the changes of a patch, or an object inside a record.
type followFields map[string]any

func (f followFields) object() json.RawMessage {
	text, err := json.Marshal(map[string]any(f))
	if err == nil {
		text, err = chain.Canonical(text)
	}
	if err != nil {
		panic("follow: an object that cannot be encoded: " + err.Error())
	}
	return text
}

// patch is the delivery of a change.
func patch(eventID string, f followFields) Delivery {
	return Delivery{http.MethodPatch, eventID, f.object()}
}

// end is the delivery of how a record ended. more may be nil.
func (r *record) end(status Status, at time.Time, why reason, more followFields) Delivery {
	again := r.ended
	r.ended = true
	at = later(r.start, at)
	f := followFields{"status": status, "end_time": stamp(at), "duration_ms": at.Sub(r.start).Milliseconds()}
	if why.code != "" {
		f["error_summary"] = why.summary()
	} else if again { // it was closed too early
		f["error_summary"], f["error_details"] = nil, nil
	}
	if why.details != "" {
		f["error_details"] = linesFollow(why.details, MaxDetails)
	}
	for k, v := range more {
		f[k] = v
	}
	return patch(r.eventID, f)
}

// reason is why something did not end well.
type reason struct{ code, message, details string }

func (w reason) summary() string {
	return linesFollow(join(w.code, w.message), MaxSummary)
}

// status of what ended for a reason.
func (w reason) status() Status {
	switch w.code {
	case "":
		return Success
	case string(fault.TimedOut):
		return Timeout
	case string(fault.Cancelled), string(fault.Killed):
		return Cancelled
	}
	return Failure
}

func later(a, b time.Time) time.Time {
	if b.Before(a) { // clocks are put back
		return a
	}
	return b
}
