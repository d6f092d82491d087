package wire

import (
	"encoding/json"

	"ramet/internal/base/jsonschema"
	"ramet/internal/model/llm"
)

// Form returns the schema of a request in the words of a vendor; ok is false where none
// was asked for, or the vendor's words do not reach: then the answer is only checked.
func Form(r llm.Request, d jsonschema.Dialect) (json.RawMessage, bool) {
	if len(r.Schema) == 0 {
		return nil, false
	}
	s, err := jsonschema.Parse(r.Schema)
	if err != nil {
		return nil, false
	}
	return s.Reduce(d)
}

// Whole returns the schema of a request as it was written, for vendors who take any that
// is about an object, and whether they can hold the model to all of it.
func Whole(r llm.Request) (schema json.RawMessage, strict, ok bool) {
	if len(r.Schema) == 0 {
		return nil, false, false
	}
	s, err := jsonschema.Parse(r.Schema)
	if err != nil || !s.Object() {
		return nil, false, false
	}
	return s.Text(), s.Strict(), true
}
