package httpapi

import (
	"maps"
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

// aliases of statuses that are understood.
var aliases = []string{"failed", "completed", "succeeded", "canceled"}

func (RunInput) schema(s *schemas) Schema {
	fields := inputFields(s)
	for _, name := range []string{"created_at", "updated_at"} {
		fields[name] = Schema{"description": "ignored: the service makes it"}
	}
	required := []string{"agent_name", "event_id", "job_type", "run_id", "start_time"}
	for name, one := range fields {
		if !slices.Contains(required, name) {
			fields[name] = orNull(one.(Schema))
		}
	}
	return Schema{"type": "object", "properties": fields, "required": required, "additionalProperties": false}
}

func (RunPatch) schema(s *schemas) Schema {
	fields := inputFields(s)
	for _, name := range []string{"event_id", "run_id", "job_type"} {
		delete(fields, name)
	}
	for name, one := range fields {
		if name != "agent_name" && name != "status" && name != "start_time" {
			fields[name] = orNull(one.(Schema))
		}
	}
	return Schema{"type": "object", "properties": fields, "minProperties": 1, "additionalProperties": false}
}

func (BatchInput) schema(s *schemas) Schema {
	// What is wrong with one record is said of that record alone.
	return Schema{"type": "object", "required": []string{"runs"}, "additionalProperties": false, "properties": Schema{
		"runs": Schema{"type": "array", "maxItems": telemetry.MaxBatch, "items": s.of(reflect.TypeFor[RunInput]())}}}
}

// inputFields are the fields of a record as a client may send them.
func inputFields(s *schemas) Schema {
	s.of(reflect.TypeFor[telemetry.Record]())
	fields := maps.Clone(s.object(reflect.TypeFor[telemetry.Record]())["properties"].(Schema))
	delete(fields, "created_at")
	delete(fields, "updated_at")
	fields["event_id"] = Schema{"type": "string", "format": "uuid"}
	fields["status"] = Schema{"type": "string", "enum": append(slices.Clone(enums[reflect.TypeFor[telemetry.Status]()]), aliases...)}
	for _, name := range []string{"items_discovered", "items_succeeded", "items_failed", "items_skipped", "duration_ms"} {
		fields[name] = Schema{"type": "integer", "minimum": 0}
	}
	for _, name := range []string{"metrics_json", "context_json"} {
		fields[name] = Schema{"anyOf": []any{Schema{"type": "object"}, Schema{"type": "string"}}, "description": "an object, or a string that holds one"}
	}
	return fields
}
