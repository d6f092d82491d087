package vendors

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Answer is what somebody understood of a stream.
type Answer struct {
	Text     string
	Thinking string
	Kept     []string // signatures and encrypted data, in order
	Looked   []string // what the vendor looked up: questions, and what it found, sealed
	Pages    []string // that the text rests on, in order
	Calls    []Call
	Tokens   Tokens
	Stop     string // the vendor's word
	Err      string // what the vendor said went wrong
}

// Call is a tool call.
type Call struct{ ID, Name, Args string }

// Tokens is usage as vendors count it. A number that nobody sent is 0.
type Tokens struct {
	Prompt    int64 // all that was read, from a cache or not
	Cached    int64 // of Prompt, from a cache
	Written   int64 // of Prompt, into a cache
	Output    int64 // all that was written
	Reasoning int64 // of Output, thinking
	Total     int64 // the vendor's own; 0 where it sends none
}

// Differences names the fields in which two answers differ, with both values. The
// total counts where b has one.
func (a Answer) Differences(b Answer) map[string]string {
	if b.Tokens.Total == 0 {
		a.Tokens.Total = 0
	}
	out := map[string]string{}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); !same(p, q) {
			out[name] = fmt.Sprintf("ours %s, the SDK's %s", brief(p), brief(q))
		}
	}
	return out
}

func same(a, b any) bool {
	if list, ok := a.([]string); ok {
		return slices.Equal(list, b.([]string))
	}
	if list, ok := a.([]Call); ok {
		return slices.Equal(list, b.([]Call))
	}
	return a == b
}

func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 400 {
		s = s[:200] + " … " + s[len(s)-200:]
	}
	return fmt.Sprintf("(%d) %s", len(fmt.Sprintf("%+v", v)), s)
}

// canonical is a JSON text as everybody writes it, so that two spellings of the
// same arguments are equal. What is no JSON stays as it is.
func canonical(s string) string {
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return s
	}
	out, _ := json.Marshal(v)
	return string(out)
}
