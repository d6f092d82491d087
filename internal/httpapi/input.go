package httpapi

import (
	"reflect"
	"slices"

	"ramet/internal/telemetry"
)

// RunInput stands in the document for the body that telemetry.ParseNew reads.
type RunInput struct{}

// RunPatch stands for the body that telemetry.ParsePatch reads.
type RunPatch struct{}

// BatchInput stands for the body that telemetry.ParseBatch reads.
type BatchInput struct{}

func (RunInput) schema(s *schemas) Schema {
	fields, required := Schema{}, []string{}
	for _, f := range telemetry.Inputs() {
		one := inputField(s, f)
		switch {
		case f.Must:
			required = append(required, f.Name)
		case f.Service:
			one = orNull(Schema{"description": "ignored: the service makes it"})
		default:
			one = orNull(one)
		}
		fields[f.Name] = one
	}
	slices.Sort(required)
	return Schema{"type": "object", "properties": fields, "required": required, "additionalProperties": false}
}

func (RunPatch) schema(s *schemas) Schema {
	fields := Schema{}
	for _, f := range telemetry.Inputs() {
		if f.Fixed || f.Service {
			continue
		}
		fields[f.Name] = inputField(s, f)
		if f.Empties {
			fields[f.Name] = orNull(inputField(s, f))
		}
	}
	return Schema{"type": "object", "properties": fields, "minProperties": 1, "additionalProperties": false}
}

func (BatchInput) schema(s *schemas) Schema {
	// What is wrong with one record is said of that record alone.
	return Schema{"type": "object", "required": []string{"runs"}, "additionalProperties": false, "properties": Schema{
		"runs": Schema{"type": "array", "maxItems": telemetry.MaxBatch, "items": s.of(reflect.TypeFor[RunInput]())}}}
}

// inputField is a field of a record as a client may send it.
func inputField(s *schemas, f telemetry.Input) Schema {
	switch {
	case f.Form == telemetry.Count:
		return Schema{"type": "integer", "minimum": 0}
	case f.Form == telemetry.Object:
		return Schema{"anyOf": []any{Schema{"type": "object"}, Schema{"type": "string"}}, "description": "an object, or a string that holds one"}
	case f.Name == "event_id":
		return Schema{"type": "string", "format": "uuid"}
	case f.Name == "status":
		return Schema{"type": "string", "enum": telemetry.StatusWords()}
	}
	s.of(reflect.TypeFor[telemetry.Record]())
	one, _ := s.object(reflect.TypeFor[telemetry.Record]())["properties"].(Schema)[f.Name].(Schema)
	return one
}
