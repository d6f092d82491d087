package operation

import (
	"errors"
	"strings"

	"ramet/internal/base/fault"
)

// FieldError is a fault that one field of the input causes.
type FieldError struct {
	Field      string
	About      string // what is wrong with the field, if the message tells more
	Suggestion string // a value or name that was probably meant; empty: none
	Malformed  bool   // a word is no value of the field's type
	Fault      *fault.Error
}

func (e *FieldError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *FieldError) Unwrap() error { return e.Fault }

// Invalid returns a fault that a field causes. {name} in the message is written as the face writes
// that field.
func Invalid(field string, code fault.Code, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Fault: fault.New(code, format, args...)}
}

// Hint adds what to do about it.
func (e *FieldError) Hint(hint string) *FieldError {
	e.Fault = e.Fault.WithHint("%s", hint)
	return e
}

// At attributes an error to a field. An error that is no fault, or names a field already, stays as it is.
func At(field string, err error) error {
	f, ok := fault.Of(err)
	if known := (*FieldError)(nil); !ok || errors.As(err, &known) {
		return err
	}
	return &FieldError{Field: field, Fault: f}
}

// checkGiven checks an optional field if it is given.
func checkGiven[T ~string](field string, given *T, check func(string) error) error {
	if given == nil {
		return nil
	}
	return At(field, check(string(*given)))
}

// valueOf returns the value of an optional field, or its zero value.
func valueOf[T any](given *T) (value T) {
	if given != nil {
		value = *given
	}
	return value
}

// Explain writes the fields that an error names as a face does.
func Explain(o Operation, f Face, err error) error {
	e, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}
	told, cause := *e, *e.Fault
	cause.Message, cause.Hint = Expand(o, f, cause.Message), Expand(o, f, cause.Hint)
	told.Fault = &cause
	return &told
}

// Expand replaces {name} in a text by the field of that name, as a face writes it. Other braces stay.
func Expand(o Operation, f Face, text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var pairs []string
	for _, p := range o.Params() {
		pairs = append(pairs, "{"+p.Name+"}", p.Written(f))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
