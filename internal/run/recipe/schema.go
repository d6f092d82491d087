package recipe

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/text"
)

// Schema is a form that an output must have.
type Schema struct {
	// Format names the format of the bytes: json (also if empty), markdown or text.
	Format string

	form *jsonschema.Schema // of JSON; nil: any value has it
}

// Check reports whether data has the form: OUTPUT_INVALID with a JSON pointer to each value
// that has not.
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
	if s.form == nil {
		return nil
	}
	err := s.form.Check(data)
	if err == nil {
		return nil
	}
	if wrong, ok := err.(*jsonschema.Mismatch); ok && wrong.Pointer == "" {
		return fault.New(fault.OutputInvalid, "the value: %s", wrong.What)
	}
	return fault.New(fault.OutputInvalid, "%s", err)
}

func checkText(data []byte, markdown bool) error {
	switch {
	case !utf8.Valid(data):
		return fault.New(fault.OutputInvalid, "the text is not UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return fault.New(fault.OutputInvalid, "the text contains NUL")
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

// JSON returns the form as a JSON Schema; nil where it is none of JSON.
func (s *Schema) JSON() json.RawMessage {
	switch {
	case s.Format != "" && s.Format != "json":
		return nil
	case s.form == nil:
		return json.RawMessage("{}")
	}
	return s.form.Text()
}
