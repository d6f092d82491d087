package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run"
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

// Path returns the path of the request.
func (d Delivery) Path() string {
	if d.Method == http.MethodPost {
		return Collection
	}
	return Collection + "/" + d.EventID
}

// record remembers a record that was created.
type record struct {
	eventID string
	runID   string
	span    string
	start   time.Time
	ended   bool
}

// createDelivery returns the delivery of a new record. Texts are cut to the lengths that a record holds.
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

// patchDelivery returns the delivery of a change.
func patchDelivery(eventID string, f fieldValues) Delivery {
	return Delivery{http.MethodPatch, eventID, f.object()}
}

// end delivers the end of a record. more may be nil.
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

type reason struct{ code, message, details string }

func (w reason) summary() string {
	return cutLines(joinReason(w.code, w.message), MaxSummary)
}

// status returns the status of a record that ended for a reason.
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

// formatTime returns a time as bodies hold it.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// cutLine returns a text on one line, of at most so many bytes.
func cutLine(s string, limit int) string {
	return cutText(text.Line(cutHead(s, 4*limit), limit), limit)
}

// cutLines returns a text of at most so many bytes, without what drives a terminal.
func cutLines(s string, limit int) string { return cutText(text.Safe(cutHead(s, limit)), limit) }

// cutHead keeps long texts from being looked at as a whole.
func cutHead(s string, limit int) string { return s[:min(len(s), limit)] }

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	s = s[:limit-len(mark)]
	for s != "" && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s + mark
}

func joinReason(code, message string) string {
	if message == "" {
		return code
	}
	return code + ": " + message
}

// spanOf returns the span of something that has a name.
func spanOf(name string) string { return hexDigest(name)[:16] }

// traceOf returns the trace of something that has a name.
func traceOf(name string) string { return hexDigest("trace " + name)[:32] }

func hexDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// withoutUser returns an address without names and passwords.
func withoutUser(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	u.User = nil
	return u.String()
}

// isCommit reports whether s can be the hash of a commit.
func isCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// timeOf returns an event's time; of one that has none, the time of the event before.
func timeOf(e run.Event, before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.TS)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return laterTime(time.Unix(0, 0).UTC(), before)
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Signal leaves a signal in a channel that has room for one.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
