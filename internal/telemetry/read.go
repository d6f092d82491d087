package telemetry

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/chain"
)

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
