package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/chain"
	"ramet/internal/base/text"
)

// ParseNew reads the body that creates a record. Null is the same as absent; created_at
// and updated_at are ignored: the service makes them. Without a duration_ms it is what
// lies between start_time and end_time.
func ParseNew(body []byte) (New, error) {
	n, trouble := parseNew(body)
	return n, trouble.err("telemetry run")
}

func parseNew(body []byte) (New, *Invalid) {
	sent, trouble := readMembers(body)
	if trouble != nil {
		return New{}, trouble
	}
	trouble = &Invalid{}
	n := New{Record: Record{Status: Running}}
	seen := map[string]bool{}
	for _, m := range sent {
		f := byName()[m.name]
		switch {
		case f == nil:
			trouble.add(unknownField(m.name, fieldNames()))
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
		return New{}, trouble
	}
	if complaint := n.Record.check("/end_time"); complaint != nil {
		trouble.add(*complaint)
		return New{}, trouble
	}
	if n.DurationMS == nil && n.EndTime != nil {
		n.DurationMS = new(n.EndTime.Sub(n.StartTime).Milliseconds())
	}
	form, complaint := canonicalJSON(body)
	if complaint != nil {
		trouble.add(*complaint)
		return New{}, trouble
	}
	n.BodyHash = chain.Sum(form).String()
	return n, trouble
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
	p, trouble := parsePatch(body)
	return p, trouble.err("change of a telemetry run")
}

func parsePatch(body []byte) (Patch, *Invalid) {
	sent, trouble := readMembers(body)
	if trouble != nil {
		return Patch{}, trouble
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
		return Patch{}, trouble
	}
	return p, trouble
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

func fieldNames() []string { return slices.Sorted(maps.Keys(byName())) }

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
