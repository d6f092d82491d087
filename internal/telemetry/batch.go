package telemetry

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBatch is how many records one request may create.
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
