package follow

import (
	"encoding/json"
	"net/http"
	"time"

	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/telemetry"
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
func create(r telemetry.Record) Delivery {
	r.AgentName = line(r.AgentName, telemetry.MaxName)
	if r.AgentName == "" {
		r.AgentName = "unknown"
	}
	r.Product = line(r.Product, telemetry.MaxName)
	r.Host = line(r.Host, telemetry.MaxName)
	r.Environment = line(r.Environment, telemetry.MaxName)
	r.TriggerType = line(r.TriggerType, telemetry.MaxName)
	r.InputSummary = lines(r.InputSummary, telemetry.MaxSummary)
	r.OutputSummary = lines(r.OutputSummary, telemetry.MaxSummary)
	r.ErrorSummary = lines(r.ErrorSummary, telemetry.MaxSummary)
	r.ErrorDetails = lines(r.ErrorDetails, telemetry.MaxDetails)
	body, err := telemetry.FormatNew(r)
	if err != nil {
		panic("follow: a record that cannot be encoded: " + err.Error()) // it is all ours
	}
	return Delivery{http.MethodPost, r.EventID, body}
}

// fields are the changes of a patch, or an object inside a record.
type fields map[string]any

func (f fields) object() json.RawMessage {
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
func patch(eventID string, f fields) Delivery {
	return Delivery{http.MethodPatch, eventID, f.object()}
}

// end is the delivery of how a record ended. more may be nil.
func (r *record) end(status telemetry.Status, at time.Time, why reason, more fields) Delivery {
	again := r.ended
	r.ended = true
	at = later(r.start, at)
	f := fields{"status": status, "end_time": stamp(at), "duration_ms": at.Sub(r.start).Milliseconds()}
	if why.code != "" {
		f["error_summary"] = why.summary()
	} else if again { // it was closed too early
		f["error_summary"], f["error_details"] = nil, nil
	}
	if why.details != "" {
		f["error_details"] = lines(why.details, telemetry.MaxDetails)
	}
	for k, v := range more {
		f[k] = v
	}
	return patch(r.eventID, f)
}

// reason is why something did not end well.
type reason struct{ code, message, details string }

func (w reason) summary() string {
	return lines(join(w.code, w.message), telemetry.MaxSummary)
}

// status of what ended for a reason.
func (w reason) status() telemetry.Status {
	switch w.code {
	case "":
		return telemetry.Success
	case string(fault.TimedOut):
		return telemetry.Timeout
	case string(fault.Cancelled), string(fault.Killed):
		return telemetry.Cancelled
	}
	return telemetry.Failure
}

func later(a, b time.Time) time.Time {
	if b.Before(a) { // clocks are put back
		return a
	}
	return b
}
