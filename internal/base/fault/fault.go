// Package fault is the one table of everything that can go wrong and be told
// to a user: a stable code, a sentence that says what and where, a hint that
// says what to do, and the exit code that scripts see.
//
// Domain and adapters create faults, everything between passes them on with
// %w, the edges print them. No process branches on the text; Is and CodeOf branch
// on the code.
package fault

import (
	"errors"
	"fmt"
)

// Error is one failure as a user meets it.
type Error struct {
	Code    Code
	Message string // what happened, and where
	Hint    string // what to do about it; may be empty
	Err     error  // the cause, for errors.Is and errors.As; may be nil
}

// New makes a fault with a formatted message. A %w in the format keeps the
// cause reachable.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns a copy that tells the user what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Error returns the message, followed by the hint where there is one.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of finds the fault in an error chain.
func Of(err error) (*Error, bool) {
	var f *Error
	if errors.As(err, &f) {
		return f, true
	}
	return nil, false
}

// CodeOf returns the code of the first fault in the chain, or Failed for an error
// that carries none.
func CodeOf(err error) Code {
	if f, ok := Of(err); ok {
		return f.Code
	}
	return Failed
}

// Is reports whether the chain holds a fault with this code.
func Is(err error, code Code) bool {
	f, ok := Of(err)
	return ok && f.Code == code
}

// Must returns the value, and panics on an error: only a mistake in the source can cause one.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
