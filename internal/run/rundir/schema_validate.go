package rundir

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/run"
)

// ValidateOutput holds a JSON document against a schema. A refusal wraps a
// *shape.Error, which says where.
//
// It asks the shapes from which the schemas are generated, not a schema library:
// the tests hold the two to the same verdict, and the library that they ask
// (santhosh-tekuri/jsonschema) compiles all metaschemas when a program starts,
// which every command would pay for.
func ValidateOutput(name string, doc []byte) error {
	p, err := findSchema(name)
	if err != nil {
		return err
	}
	err = p.check(doc)
	if what := (*shape.Error)(nil); errors.As(err, &what) {
		return fault.New(p.code, "%s: %w", p.name, what).WithHint("`ramet schema %s` prints the form", p.name)
	}
	return err
}

// checkEvent is the envelope and then the payload, whose form the type decides.
func checkEvent(doc []byte) error {
	if err := envelope().Check(doc); err != nil {
		return err
	}
	var e struct {
		Type    run.Type       `json:"type"`
		Payload jsontext.Value `json:"payload"`
	}
	if err := json.Unmarshal(doc, &e); err != nil {
		return &shape.Error{What: "not JSON: " + err.Error()}
	}
	payload, known := run.PayloadShape(e.Type)
	if !known {
		return nil
	}
	err := payload.Check(e.Payload)
	if what := (*shape.Error)(nil); errors.As(err, &what) {
		return &shape.Error{Pointer: "/payload" + what.Pointer, What: what.What}
	}
	return err
}
