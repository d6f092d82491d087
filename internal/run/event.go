package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"ramet/internal/base/fault"
)

// Event is one line of a log.
type Event struct {
	ID         string
	RunID      string
	TS         string
	Type       Type
	Payload    []byte // an object in RFC 8785 form
	TraceID    string
	SpanID     string
	ParentSpan string // empty: none
	PrevHash   string // empty: the first
	Hash       string
}

// MaxLine is the longest line that is read or written, in bytes.
const MaxLine = 64 << 20

// Sum returns the event's hash by the formula in the package comment.
func (e Event) Sum() string {
	text := e.sum()
	return string(text[:])
}

// Intact reports whether the event has the hash that the formula gives.
func (e Event) Intact() bool {
	text := e.sum()
	return e.Hash == string(text[:])
}

func (e Event) sum() (text [2 * sha256.Size]byte) {
	var room [1024]byte // ordinary events need no allocation
	buf := append(room[:0], e.ID...)
	buf = append(buf, e.TS...)
	buf = append(buf, e.Type...)
	buf = append(buf, e.Payload...)
	buf = append(buf, e.PrevHash...)
	sum := sha256.Sum256(buf)
	hex.Encode(text[:], sum[:])
	return text
}

// Line returns the event's line in the log, without the line feed.
func (e Event) Line() []byte {
	b := make([]byte, 0, 480+len(e.Payload))
	b = append(b, `{"event_hash":"`...)
	b = append(b, e.Hash...)
	b = append(b, `","event_id":"`...)
	b = append(b, e.ID...)
	if e.ParentSpan != "" {
		b = append(b, `","parent_span_id":"`...)
		b = append(b, e.ParentSpan...)
	}
	b = append(b, `","payload":`...)
	b = append(b, e.Payload...)
	b = append(b, `,"prev_hash":"`...)
	b = append(b, e.PrevHash...)
	b = append(b, `","run_id":"`...)
	b = append(b, e.RunID...)
	b = append(b, `","span_id":"`...)
	b = append(b, e.SpanID...)
	b = append(b, `","trace_id":"`...)
	b = append(b, e.TraceID...)
	b = append(b, `","ts":"`...)
	b = append(b, e.TS...)
	b = append(b, `","type":"`...)
	b = append(b, e.Type...)
	return append(b, `"}`...)
}

// ParseLine reads a line, without its line feed, and accepts exactly what Line
// writes. It does not check the hash. The payload points into the line.
func ParseLine(line []byte) (Event, error) {
	var e Event
	s := scan{rest: line}
	e.Hash = s.field(`{"event_hash":"`, isHash)
	e.ID = s.field(`","event_id":"`, isUUID)
	if bytes.HasPrefix(s.rest, []byte(`","parent_span_id"`)) {
		e.ParentSpan = s.field(`","parent_span_id":"`, isSpan)
	}
	e.Payload = s.object(`","payload":`)
	e.PrevHash = s.field(`,"prev_hash":"`, func(b []byte) bool { return len(b) == 0 || isHash(b) })
	e.RunID = s.field(`","run_id":"`, func(b []byte) bool { return IsRunID(string(b)) })
	e.SpanID = s.field(`","span_id":"`, isSpan)
	e.TraceID = s.field(`","trace_id":"`, isTrace)
	e.TS = s.field(`","ts":"`, func(b []byte) bool { return IsTime(string(b)) })
	e.Type = Type(s.field(`","type":"`, isType))
	s.end(`"}`)
	return e, s.err
}

// scan takes a line apart in the one order that its form allows.
type scan struct {
	rest []byte
	err  error
}

func (s *scan) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *scan) literal(want string) bool {
	if s.err != nil {
		return false
	}
	if len(s.rest) < len(want) || string(s.rest[:len(want)]) != want {
		s.fail("not an event line in RFC 8785 form: %.40q where %s belongs", s.rest, want)
		return false
	}
	s.rest = s.rest[len(want):]
	return true
}

// field reads a string that needs no escapes.
func (s *scan) field(opening string, ok func([]byte) bool) string {
	if !s.literal(opening) {
		return ""
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 || !ok(s.rest[:end]) {
		s.fail("%s has no valid value: %.80q", opening, s.rest[:max(0, min(end, 80))])
		return ""
	}
	value := string(s.rest[:end])
	s.rest = s.rest[end:]
	return value
}

func (s *scan) object(opening string) []byte {
	if !s.literal(opening) {
		return nil
	}
	if len(s.rest) == 0 || s.rest[0] != '{' {
		s.fail("payload is not an object")
		return nil
	}
	n, err := canonicalValue(s.rest, 0)
	if err != nil {
		s.fail("payload: %w", err)
		return nil
	}
	value := s.rest[:n:n]
	s.rest = s.rest[n:]
	return value
}

func (s *scan) end(want string) {
	if s.err == nil && string(s.rest) != want {
		s.fail("not an event line in RFC 8785 form: %.40q where %s and the end belong", s.rest, want)
	}
}

func isHash(b []byte) bool  { return len(b) == 64 && isHex(b) }
func isTrace(b []byte) bool { return len(b) == 32 && isHex(b) }
func isSpan(b []byte) bool  { return len(b) == 16 && isHex(b) }

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !isHex(b[i:i+1]) {
			return false
		}
	}
	return true
}

func isType(b []byte) bool {
	for _, c := range b {
		if (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return len(b) > 0
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

// timeForm is the form of a time: 0 means a digit.
const timeForm = "0000-00-00T00:00:00"

// IsTime reports whether s is an RFC 3339 time in UTC, with at most nine digits
// after the second. It checks the form itself, because time.Parse also accepts
// hours of one digit and a comma for the point.
func IsTime(s string) bool {
	if len(s) < len(timeForm)+1 || len(s) > len(timeForm)+11 || s[len(s)-1] != 'Z' {
		return false
	}
	for i := range len(timeForm) {
		if digit := isDigit(s[i]); digit != (timeForm[i] == '0') || !digit && s[i] != timeForm[i] {
			return false
		}
	}
	if fraction := s[len(timeForm) : len(s)-1]; fraction != "" {
		if fraction[0] != '.' || len(fraction) == 1 {
			return false
		}
		for i := 1; i < len(fraction); i++ {
			if !isDigit(fraction[i]) {
				return false
			}
		}
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// FormatTime is the time of an event.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
