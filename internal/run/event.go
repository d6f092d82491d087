package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
)

// Event is one line of a log. Its members are in the order of the line.
type Event struct {
	Hash       string         `json:"event_hash"`
	ID         string         `json:"event_id"`
	ParentSpan string         `json:"parent_span_id,omitempty"` // empty: none
	Payload    jsontext.Value `json:"payload"`                  // an object in RFC 8785 form
	PrevHash   string         `json:"prev_hash"`                // empty: the first
	RunID      string         `json:"run_id"`
	SpanID     string         `json:"span_id"`
	TraceID    string         `json:"trace_id"`
	TS         string         `json:"ts"`
	Type       Type           `json:"type"`
}

// MaxLine is the longest line that is read or written, in bytes.
const MaxLine = 64 << 20

// Sum returns the event's hash by the formula in the package comment.
func (e Event) Sum() string {
	sum := sha256.Sum256([]byte(e.ID + e.TS + string(e.Type) + string(e.Payload) + e.PrevHash))
	return hex.EncodeToString(sum[:])
}

// Intact reports whether the event has the hash that the formula gives.
func (e Event) Intact() bool { return e.Hash == e.Sum() }

// Line returns the event's line in the log, without the line feed; nil if the payload is not JSON.
func (e Event) Line() []byte {
	line, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return line
}

// EventShape is the shape that all events have in common.
var EventShape = sync.OnceValue(func() *shape.Shape {
	span := shape.Hex(16)
	return shape.Object(
		shape.Must("event_id", shape.Match(uuidExpr).With("A UUID, unique in the run.")),
		shape.Must("run_id", runID()),
		shape.Must("ts", Moment().With("RFC 3339, UTC.")),
		shape.Must("type", shape.Match(`[A-Z_]+`)),
		shape.Must("payload", shape.Open()),
		shape.Must("trace_id", shape.Hex(32).With("One for the whole run.")),
		shape.Must("span_id", span),
		shape.May("parent_span_id", span),
		shape.Must("prev_hash", shape.Match(`(?:[0-9a-f]{64})?`).With("The event_hash of the event before; empty for the first.")),
		shape.Must("event_hash", hash256()),
	)
})

// Moment is the shape of an RFC 3339 time in UTC. It does not check the days of each month.
var Moment = sync.OnceValue(func() *shape.Shape {
	return shape.Match(`[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z`)
})

// ParseLine reads a line, without its line feed, and accepts exactly what Line
// writes. It does not check the hash.
func ParseLine(line []byte) (Event, error) {
	var e Event
	if form, err := chain.Canonical(line); err != nil {
		return e, fmt.Errorf("not an event line in RFC 8785 form: %w", err)
	} else if !bytes.Equal(form, line) {
		return e, errors.New("not an event line in RFC 8785 form")
	}
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil || !e.isPlain(line) {
		if err := EventShape().CheckValid(line); err != nil {
			return e, err
		}
		if err != nil {
			return e, err
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, e.TS); err != nil {
		return e, fmt.Errorf("/ts: %q is no time", e.TS)
	}
	return e, nil
}

// isPlain reports whether an event that was read from line obviously has EventShape, which takes as long to check as the rest of
// a replay. False says nothing: the first event of a log, for instance, names no event before it.
func (e Event) isPlain(line []byte) bool {
	_, err := uuid.Parse(e.ID)
	return err == nil && len(e.ID) == 36 && strings.ToLower(e.ID) == e.ID && isHex(e.Hash, 64) && isHex(e.PrevHash, 64) && isHex(e.SpanID, 16) && isHex(e.TraceID, 32) &&
		(isHex(e.ParentSpan, 16) || e.ParentSpan == "" && !bytes.Contains(line, []byte(`"parent_span_id"`))) &&
		IsRunID(e.RunID) && bytes.HasPrefix(e.Payload, []byte("{")) && strings.Trim(string(e.Type), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && e.Type != "" &&
		len(e.TS) == len("2006-01-02T15:04:05.000000Z") && e.TS[10] == 'T' && e.TS[19] == '.' && e.TS[26] == 'Z'
}

// isHex reports whether s consists of n small hexadecimal digits.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// IsRunID reports whether s can be the id of a run.
func IsRunID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// CheckRunID refuses what cannot be the id of a run.
func CheckRunID(s string) error {
	if IsRunID(s) {
		return nil
	}
	return fault.New(fault.InvalidID, "%.80q is not a run id", s).
		WithHint("use 1 to 64 characters of A-Z a-z 0-9 _ -")
}

// FormatTime is the time of an event.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
