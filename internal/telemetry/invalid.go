package telemetry

import (
	"errors"
	"fmt"
	"strings"

	"ramet/internal/base/fault"
)

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
