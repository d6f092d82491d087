package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/fault"
	"ramet/internal/shape"
	"ramet/internal/text"
)

// Schema is a form that an output must have: a part of JSON Schema.
type Schema struct {
	// Format is what the bytes are: json (also where it is empty), markdown or text. Only
	// JSON has the rest.
	Format     string
	Type       string // object, array, string, integer, number, boolean; empty: any
	Properties map[string]*Schema
	Required   []string
	Closed     bool    // additionalProperties: false
	Values     *Schema // additionalProperties: a form
	Items      *Schema
	Enum       []string
	MinItems   int
	MinLength  int
	Pattern    string

	match *regexp.Regexp // what Pattern says
}

// Check says whether data has the form: OUTPUT_INVALID with a JSON pointer to the first
// value that has not.
func (s *Schema) Check(data []byte) error {
	switch s.Format {
	case "text", "markdown":
		return checkText(data, s.Format == "markdown")
	}
	if v := jsontext.Value(data); !v.IsValid() {
		_, err := jsontext.NewDecoder(bytes.NewReader(data)).ReadValue()
		why := "something follows the value"
		if err != nil {
			why = text.Line(err.Error(), 200)
		}
		return fault.New(fault.OutputInvalid, "not JSON: %s", why).WithHint("give the JSON alone, without a code fence or words around it")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fault.New(fault.OutputInvalid, "not JSON: %s", text.Line(err.Error(), 200))
	}
	return s.check(value, "")
}

func checkText(data []byte, markdown bool) error {
	switch {
	case !utf8.Valid(data):
		return fault.New(fault.OutputInvalid, "the text is not UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return fault.New(fault.OutputInvalid, "the text holds NUL")
	}
	trimmed := bytes.TrimSpace(data)
	switch {
	case !markdown:
		return nil
	case len(trimmed) == 0:
		return fault.New(fault.OutputInvalid, "the Markdown is empty")
	case bytes.HasPrefix(trimmed, []byte("```m")) && bytes.HasSuffix(trimmed, []byte("```")):
		return fault.New(fault.OutputInvalid, "the Markdown is wrapped in a code fence").WithHint("give it plain")
	}
	return nil
}

func bad(at, format string, args ...any) error {
	if at == "" {
		at = "the value"
	}
	return fault.New(fault.OutputInvalid, "%s: %s", text.Safe(at), fmt.Sprintf(format, args...))
}

// kindOfValue names a JSON value.
func kindOfValue(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func (s *Schema) check(v any, at string) error {
	kind := kindOfValue(v)
	if s.Type != "" && s.Type != kind && (s.Type != "number" || kind != "integer") {
		return bad(at, "must be of type %s, not %s", s.Type, kind)
	}
	switch v := v.(type) {
	case string:
		return s.checkString(v, at)
	case []any:
		if len(v) < s.MinItems {
			return bad(at, "must have %d or more items, has %d", s.MinItems, len(v))
		}
		if s.Items == nil {
			return nil
		}
		for i, item := range v {
			if err := s.Items.check(item, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case map[string]any:
		return s.checkObject(v, at)
	}
	return nil
}

func (s *Schema) checkString(v, at string) error {
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		return bad(at, "must be one of %s, not %.60q", strings.Join(s.Enum, ", "), v)
	case utf8.RuneCountInString(v) < s.MinLength:
		return bad(at, "must have %d or more characters", s.MinLength)
	case s.match != nil && !s.match.MatchString(v):
		return bad(at, "%.80q does not fit %s", v, s.Pattern)
	}
	return nil
}

// checkObject goes through the keys in their order, so that the same data always has the
// same message.
func (s *Schema) checkObject(v map[string]any, at string) error {
	for _, key := range s.Required {
		if _, there := v[key]; !there {
			return bad(at+"/"+shape.Escape(key), "is missing")
		}
	}
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		one, known := s.Properties[key]
		switch {
		case !known && s.Closed:
			return bad(at+"/"+shape.Escape(text.Line(key, 60)), "no such field here")
		case !known:
			one = s.Values
		}
		if one == nil {
			continue
		}
		if err := one.check(v[key], at+"/"+shape.Escape(key)); err != nil {
			return err
		}
	}
	return nil
}
