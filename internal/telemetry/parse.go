package telemetry

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// ParseNew reads the body that creates a record. Null is the same as absent; created_at
// and updated_at are ignored: the service makes them. Without a duration_ms it is what
// lies between start_time and end_time.
func ParseNew(body []byte) (New, error) {
	sent, trouble := readMembers(body)
	if trouble != nil {
		return New{}, trouble.err("telemetry run")
	}
	trouble = &Invalid{}
	n := New{Record: Record{Status: Running}}
	seen := map[string]bool{}
	for _, m := range sent {
		f := byName()[m.name]
		switch {
		case f == nil:
			trouble.add(unknownField(m.name, slices.Sorted(maps.Keys(byName()))))
		case f.service:
		case m.value.Kind() != 'n':
			seen[m.name] = true
			set, complaint := f.read(m.value)
			if complaint != nil {
				trouble.add(atField(m.name, complaint))
				continue
			}
			set(&n.Record)
		}
	}
	for _, f := range fields() {
		if f.must && !seen[f.name] {
			trouble.add(FieldError{Pointer: "/" + f.name, Message: "is missing"})
		}
	}
	if len(trouble.Fields) > 0 {
		return New{}, trouble.err("telemetry run")
	}
	if complaint := n.Record.check("/end_time"); complaint != nil {
		trouble.add(*complaint)
		return New{}, trouble.err("telemetry run")
	}
	if n.DurationMS == nil && n.EndTime != nil {
		n.DurationMS = new(n.EndTime.Sub(n.StartTime).Milliseconds())
	}
	form, complaint := canonicalJSON(body)
	if complaint != nil {
		trouble.add(*complaint)
		return New{}, trouble.err("telemetry run")
	}
	n.BodyHash = chain.Sum(form).String()
	return n, nil
}

// FormatNew returns the body that creates a record; ParseNew reads it.
func FormatNew(r Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sent, trouble := readMembers(text)
	if trouble != nil {
		return nil, trouble.err("telemetry run")
	}
	out := map[string]json.RawMessage{}
	for _, m := range sent {
		if !byName()[m.name].service {
			out[m.name] = json.RawMessage(m.value)
		}
	}
	if text, err = json.Marshal(out); err != nil {
		return nil, err
	}
	return chain.Canonical(text)
}

// ParsePatch reads the body that changes a record. Null empties a field that can be
// empty. What depends on the record as well is left to Apply.
func ParsePatch(body []byte) (Patch, error) {
	const what = "change of a telemetry run"
	sent, trouble := readMembers(body)
	if trouble != nil {
		return Patch{}, trouble.err(what)
	}
	trouble = &Invalid{}
	var p Patch
	for _, m := range sent {
		f := byName()[m.name]
		c := change{name: m.name}
		var complaint *FieldError
		switch {
		case f == nil:
			trouble.add(unknownField(m.name, changeableFields()))
			continue
		case f.service:
			complaint = complain("is set by the service")
		case f.fixed:
			complaint = complain("stays as it was created")
		case m.value.Kind() != 'n':
			c.set, complaint = f.read(m.value)
		case f.empty == nil:
			complaint = complain("must not be null")
		default:
			c.set = f.empty
		}
		if complaint != nil {
			trouble.add(atField(m.name, complaint))
			continue
		}
		p.changes = append(p.changes, c)
	}
	if len(sent) == 0 {
		trouble.add(*complain("names no field to change"))
	}
	if len(trouble.Fields) > 0 {
		return Patch{}, trouble.err(what)
	}
	return p, nil
}

// check compares fields with each other. blame is the pointer of the error about an end before the start.
func (r *Record) check(blame string) *FieldError {
	switch {
	case r.EndTime != nil && r.EndTime.Before(r.StartTime):
		complaint := complain("end_time %s is before start_time %s", r.EndTime.Format(time.RFC3339Nano), r.StartTime.Format(time.RFC3339Nano))
		complaint.Pointer = blame
		return complaint
	case r.ParentRunID == r.RunID:
		return &FieldError{Pointer: "/parent_run_id", Message: "a run is not its own parent"}
	}
	return nil
}

func atField(name string, complaint *FieldError) FieldError {
	out := *complaint
	out.Pointer = "/" + escapes.Replace(name) + out.Pointer
	return out
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

func unknownField(name string, known []string) FieldError {
	f := atField(name, complain("no such field"))
	f.Suggestion = text.NearestWord(name, known)
	return f
}

// changeableFields returns the names of the fields that a patch may have.
func changeableFields() (out []string) {
	for _, f := range fields() {
		if !f.fixed && !f.service {
			out = append(out, f.name)
		}
	}
	return out
}

// MaxBatch limits the records that one request may create.
const MaxBatch = 1000

// Item is one record of a batch, or what is wrong with it.
type Item struct {
	New     New
	EventID string // as far as it could be read
	Err     error  // pointers are into the whole body
}

// ParseBatch reads the body {"runs": [...]}. What is wrong with one record does not
// touch the others.
func ParseBatch(body []byte) ([]Item, error) {
	const what = "batch of telemetry runs"
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	var out []Item
	for _, want := range []jsontext.Kind{'{', '"', '['} {
		if kind := dec.PeekKind(); kind != want && kind != 0 {
			return nil, (&Invalid{Fields: []FieldError{{Message: `must be an object {"runs": [...]}`}}}).err(what)
		}
		token, err := dec.ReadToken()
		if err != nil {
			return nil, malformedBody(err).err(what)
		}
		if name := token.String(); want == '"' && name != "runs" {
			return nil, (&Invalid{Fields: []FieldError{unknownField(name, []string{"runs"})}}).err(what)
		}
	}
	for dec.PeekKind() != ']' {
		if len(out) == MaxBatch {
			return nil, (&Invalid{Fields: []FieldError{{Pointer: "/runs", Message: "has more than " + strconv.Itoa(MaxBatch) + " records"}}}).err(what)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, malformedBody(err).err(what)
		}
		n, err := ParseNew(value)
		item := Item{New: n, EventID: n.EventID}
		if err != nil {
			item.Err = underPointer("/runs/"+strconv.Itoa(len(out)), err)
			item.EventID = eventIDOf(value)
		}
		out = append(out, item)
	}
	for range 2 { // the closing brackets
		if token, err := dec.ReadToken(); err != nil {
			return nil, malformedBody(err).err(what)
		} else if token.Kind() == '"' {
			return nil, (&Invalid{Fields: []FieldError{unknownField(token.String(), []string{"runs"})}}).err(what)
		}
	}
	if kind := dec.PeekKind(); kind != 0 {
		return nil, (&Invalid{Malformed: true, Fields: []FieldError{{Message: "not JSON: something follows the object"}}}).err(what)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformedBody(err).err(what)
	}
	return out, nil
}

// eventIDOf finds the id in a record that is refused, for the answer.
func eventIDOf(body []byte) string {
	sent, _ := readMembers(body)
	for _, m := range sent {
		if m.name == "event_id" && m.value.Kind() == '"' {
			s, _ := readString(m.value)
			id, _ := readEventID(s)
			return id
		}
	}
	return ""
}

// What a body may be.
const (
	MaxBody  = 1 << 20 // bytes of one record
	MaxDepth = 64      // of nested JSON
)

// member is a field as it was sent.
type member struct {
	name  string
	value jsontext.Value
}

// readMembers splits an object into its members. It refuses texts that two programs could read differently.
func readMembers(body []byte) ([]member, *Invalid) {
	if trouble := checkBody(body); trouble != nil {
		return nil, trouble
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		if _, err := dec.ReadValue(); err != nil {
			return nil, malformedBody(err)
		}
		return nil, &Invalid{Fields: []FieldError{{Message: "must be an object"}}}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformedBody(err)
	}
	var out []member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, malformedBody(err)
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, malformedBody(err)
		}
		end := int(dec.InputOffset()) // the decoder's own slice does not last
		m.value = body[end-len(value) : end : end]
		out = append(out, m)
	}
	if _, err := dec.ReadToken(); err != nil { // the closing bracket
		return nil, malformedBody(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Invalid{Malformed: true, Fields: []FieldError{*complain("not JSON: something follows the object at byte %d", dec.InputOffset())}}
	}
	return out, nil
}

// checkBody refuses what is empty, too long or too deep, before a parser sees it.
func checkBody(body []byte) *Invalid {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return &Invalid{Malformed: true, Fields: []FieldError{*complain("is empty, where a JSON object belongs")}}
	case len(body) > MaxBody:
		return &Invalid{Fields: []FieldError{*complain("has %d bytes, over the limit of %d", len(body), MaxBody)}}
	}
	if complaint := checkDepth(body); complaint != nil {
		return &Invalid{Fields: []FieldError{*complaint}}
	}
	return nil
}

// checkDepth points at the first value that is nested too deep. Other errors are found later.
func checkDepth(text []byte) *FieldError {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return nil
		}
		if dec.StackDepth() > MaxDepth {
			complaint := complain("nested deeper than %d", MaxDepth)
			complaint.Pointer = string(dec.StackPointer())
			return complaint
		}
	}
}

// malformedBody reports the place where a text stops being JSON.
func malformedBody(err error) *Invalid {
	out := &Invalid{Malformed: true}
	var e *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		out.add(FieldError{Message: "not JSON: it is cut off"})
	case !errors.As(err, &e):
		out.add(*complain("not JSON: %v", err))
	case errors.Is(err, jsontext.ErrDuplicateName):
		out.add(FieldError{Pointer: string(e.JSONPointer), Message: "the same key twice"})
	default:
		f := complain("not JSON at byte %d: %v", e.ByteOffset, e.Err)
		f.Pointer = string(e.JSONPointer)
		out.add(*f)
	}
	return out
}

// canonicalJSON returns the RFC 8785 form of a sound text. Only a number that no double
// holds has none.
func canonicalJSON(text []byte) ([]byte, *FieldError) {
	out, err := chain.Canonical(text)
	if err == nil {
		return out, nil
	}
	complaint := complain("%v", err)
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, complaint
		}
		if token.Kind() != '0' {
			continue
		}
		if f, err := strconv.ParseFloat(token.String(), 64); err != nil || math.IsInf(f, 0) {
			complaint.Message = "a number that does not fit a double"
			complaint.Pointer = string(dec.StackPointer())
			return nil, complaint
		}
	}
}

// FieldError is an error in a request. Pointer is an RFC 6901 JSON pointer into the body, "" for the whole body,
// "/query/NAME" for a parameter of the query.
type FieldError struct {
	Pointer    string `json:"pointer"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"` // what was probably meant
}

func (e FieldError) Error() string {
	s := e.Message
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	if e.Suggestion != "" {
		s += fmt.Sprintf(" (did you mean %q?)", e.Suggestion)
	}
	return s
}

// Invalid holds all errors in a request. A fault INVALID_FIELD wraps it.
type Invalid struct {
	Fields []FieldError // one or more, at most maxComplaints
	// Malformed is set for a body that is no JSON, or that two programs may read differently (a key twice, broken
	// UTF-8).
	Malformed bool
}

// maxComplaints bounds the answer to a body that is wrong everywhere.
const maxComplaints = 20

func (e *Invalid) Error() string {
	s := e.Fields[0].Error()
	if more := len(e.Fields) - 1; more > 0 {
		s += fmt.Sprintf(", and %d more", more)
	}
	return s
}

// Details returns the fields that an error is about; none if it is about something else.
func Details(err error) []FieldError {
	if e := (*Invalid)(nil); errors.As(err, &e) {
		return e.Fields
	}
	return nil
}

// Malformed reports whether an error is about a body that is no JSON at all.
func Malformed(err error) bool {
	e := (*Invalid)(nil)
	return errors.As(err, &e) && e.Malformed
}

func (e *Invalid) add(f FieldError) {
	if len(e.Fields) < maxComplaints {
		e.Fields = append(e.Fields, f)
	}
}

// err returns the fault, or nil if nothing is wrong.
func (e *Invalid) err(what string) error {
	if len(e.Fields) == 0 {
		return nil
	}
	return fault.New(fault.InvalidField, "%s: %w", what, e)
}

// underPointer returns a copy of an error about a part of a larger body, with the pointer of that part before
// those of its fields.
func underPointer(pointer string, err error) error {
	f, _ := fault.Of(err)
	e := (*Invalid)(nil)
	if f == nil || !errors.As(err, &e) {
		return err
	}
	moved := &Invalid{Malformed: e.Malformed}
	for _, one := range e.Fields {
		one.Pointer = pointer + one.Pointer
		moved.add(one)
	}
	return moved.err(strings.TrimPrefix(pointer, "/"))
}

func complain(format string, args ...any) *FieldError {
	return &FieldError{Message: fmt.Sprintf(format, args...)}
}

// How many records a page has.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// parameters are the fields of a filter, as a query names them.
var parameters = map[string]func(f *Filter, s string) *FieldError{
	"agent_name":      func(f *Filter, s string) *FieldError { return readFilterText(&f.AgentName, s) },
	"run_id":          func(f *Filter, s string) *FieldError { return readFilterText(&f.RunID, s) },
	"parent_run_id":   func(f *Filter, s string) *FieldError { return readFilterText(&f.ParentRunID, s) },
	"trace_id":        func(f *Filter, s string) *FieldError { return readFilterText(&f.TraceID, s) },
	"status":          func(f *Filter, s string) (bad *FieldError) { f.Status, bad = parseStatus(s); return },
	"job_type":        func(f *Filter, s string) (bad *FieldError) { f.JobType, bad = oneOf(s, jobTypes); return },
	"created_before":  func(f *Filter, s string) *FieldError { return readQueryTime(&f.CreatedBefore, s) },
	"created_after":   func(f *Filter, s string) *FieldError { return readQueryTime(&f.CreatedAfter, s) },
	"start_time_from": func(f *Filter, s string) *FieldError { return readQueryTime(&f.StartFrom, s) },
	"start_time_to":   func(f *Filter, s string) *FieldError { return readQueryTime(&f.StartTo, s) },
	"cursor": func(f *Filter, s string) *FieldError {
		_, err := ParseCursor(s)
		if err != nil {
			return &Details(err)[0]
		}
		f.Cursor = s
		return nil
	},
	"limit": func(f *Filter, s string) *FieldError {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > MaxLimit {
			return complain("must be a number from 1 to %d, not %.20q", MaxLimit, s)
		}
		f.Limit = n
		return nil
	},
}

// ParseFilter reads the parameters of a query (url.Values). An empty parameter is the
// same as none; one that is there twice is refused.
func ParseFilter(query map[string][]string) (Filter, error) {
	var f Filter
	trouble := &Invalid{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		read, values := parameters[name], query[name]
		var complaint *FieldError
		switch {
		case read == nil:
			unknown := unknownField(name, slices.Sorted(maps.Keys(parameters)))
			unknown.Message = "no such parameter"
			complaint = &unknown
		case len(values) > 1:
			complaint = complain("appears twice")
		case len(values) == 1 && values[0] != "":
			complaint = read(&f, values[0])
		}
		if complaint != nil {
			trouble.add(*inQuery(name, complaint))
		}
	}
	if len(trouble.Fields) > 0 {
		return Filter{}, trouble.err("list of telemetry runs")
	}
	return f, nil
}

// readFilterText reads a text to compare with. It refuses texts that no record can hold, because
// not every database takes them.
func readFilterText(to *string, s string) *FieldError {
	if len(s) > MaxName {
		return complain("has %d bytes, over the limit of %d", len(s), MaxName)
	}
	if s != strings.ToValidUTF8(s, "") {
		return complain("is not UTF-8")
	}
	*to = s
	return oneLine(s)
}

// readQueryTime reads a time of a query, where an unescaped + has become a space.
func readQueryTime(to *time.Time, s string) *FieldError {
	if i := strings.LastIndexByte(s, ' '); i > len("2006-01-02T15:04") {
		s = s[:i] + "+" + s[i+1:]
	}
	t, complaint := parseTime(s)
	*to = t
	return complaint
}

// Cursors are opaque: their content may change with any version. They hold the place of the last record of a
// page, so that newer records, which are listed before it, move nothing.
const (
	cursorVersion = 1
	cursorBytes   = 1 + 8 + 4
)

// FormatCursor makes the cursor of the page after a place in the order of arrival.
func FormatCursor(place int64) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, uint64(place))
	return base64.RawURLEncoding.EncodeToString(append(b, cursorSum(b)...))
}

// cursorSum finds cursors that were cut, mistyped or made up.
func cursorSum(b []byte) []byte {
	sum := chain.Sum(append([]byte("ramet telemetry cursor "), b...))
	return sum[:4]
}

// ParseCursor reads what FormatCursor makes, and nothing else.
func ParseCursor(s string) (place int64, err error) {
	if len(s) <= 2*cursorBytes {
		b, err := base64.RawURLEncoding.Strict().DecodeString(s)
		if err == nil && len(b) == cursorBytes && b[0] == cursorVersion && string(cursorSum(b[:9])) == string(b[9:]) {
			if place = int64(binary.BigEndian.Uint64(b[1:])); place > 0 && FormatCursor(place) == s {
				return place, nil
			}
		}
	}
	return 0, (&Invalid{Fields: []FieldError{*inQuery("cursor", complain("%.40q is not a cursor that was handed out", s))}}).err("list of telemetry runs")
}

func inQuery(name string, complaint *FieldError) *FieldError {
	complaint.Pointer = "/query/" + escapes.Replace(name)
	return complaint
}
