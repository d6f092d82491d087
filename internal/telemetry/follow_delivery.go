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

// createDelivery is the delivery of a new record. Texts are cut to what a record holds.
func createDelivery(r Record) Delivery {
	r.AgentName = cutLine(r.AgentName, MaxName)
	if r.AgentName == "" {
		r.AgentName = "unknown"
	}
	r.Product = cutLine(r.Product, MaxName)
	r.Host = cutLine(r.Host, MaxName)
	r.Environment = cutLine(r.Environment, MaxName)
	r.TriggerType = cutLine(r.TriggerType, MaxName)
	r.InputSummary = cutLines(r.InputSummary, MaxSummary)
	r.OutputSummary = cutLines(r.OutputSummary, MaxSummary)
	r.ErrorSummary = cutLines(r.ErrorSummary, MaxSummary)
	r.ErrorDetails = cutLines(r.ErrorDetails, MaxDetails)
	body, err := FormatNew(r)
	if err != nil {
		panic("follow: a record that cannot be encoded: " + err.Error()) // it is all ours
	}
	return Delivery{http.MethodPost, r.EventID, body}
}

// fieldValues are the changes of a patch, or an object inside a record.
type fieldValues map[string]any

func (f fieldValues) object() json.RawMessage {
	text, err := json.Marshal(map[string]any(f))
	if err == nil {
		text, err = chain.Canonical(text)
	}
	if err != nil {
		panic("follow: an object that cannot be encoded: " + err.Error())
	}
	return text
}

// patchDelivery is the delivery of a change.
func patchDelivery(eventID string, f fieldValues) Delivery {
	return Delivery{http.MethodPatch, eventID, f.object()}
}

// end is the delivery of how a record ended. more may be nil.
func (r *record) end(status Status, at time.Time, why reason, more fieldValues) Delivery {
	again := r.ended
	r.ended = true
	at = laterTime(r.start, at)
	f := fieldValues{"status": status, "end_time": formatTime(at), "duration_ms": at.Sub(r.start).Milliseconds()}
	if why.code != "" {
		f["error_summary"] = why.summary()
	} else if again { // it was closed too early
		f["error_summary"], f["error_details"] = nil, nil
	}
	if why.details != "" {
		f["error_details"] = cutLines(why.details, MaxDetails)
	}
	for k, v := range more {
		f[k] = v
	}
	return patchDelivery(r.eventID, f)
}

// reason is why something did not end well.
type reason struct{ code, message, details string }

func (w reason) summary() string {
	return cutLines(joinReason(w.code, w.message), MaxSummary)
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

func laterTime(a, b time.Time) time.Time {
	if b.Before(a) { // clocks are put back
		return a
	}
	return b
}
