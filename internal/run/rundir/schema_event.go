package rundir

import (
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/run"
)

var (
	hash = sync.OnceValue(func() *shape.Shape { return shape.Hex(64) })
	span = sync.OnceValue(func() *shape.Shape { return shape.Hex(16) })
	// The pattern does not check the days of each month.
	moment = sync.OnceValue(func() *shape.Shape {
		return shape.Match(`[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z`)
	})
	runID = sync.OnceValue(func() *shape.Shape { return shape.Match(`[A-Za-z0-9_-]{1,64}`) })
)

// envelope is the shape that all events have in common.
var envelope = sync.OnceValue(func() *shape.Shape {
	return shape.Object(
		shape.Must("event_id", shape.Match(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).With("A UUID, unique in the run.")),
		shape.Must("run_id", runID()),
		shape.Must("ts", moment().With("RFC 3339, UTC.")),
		shape.Must("type", shape.Match(`[A-Z_]+`)),
		shape.Must("payload", shape.Open()),
		shape.Must("trace_id", shape.Hex(32).With("One for the whole run.")),
		shape.Must("span_id", span()),
		shape.May("parent_span_id", span()),
		shape.Must("prev_hash", shape.Match(`(?:[0-9a-f]{64})?`).With("The event_hash of the event before; empty for the first.")),
		shape.Must("event_hash", hash()),
	)
})

// eventSchema is the envelope, and for each type the form of its payload.
func eventSchema() map[string]any {
	doc := envelope().Schema()
	var rules []any
	for _, t := range run.Types() {
		payload, known := run.PayloadShape(t)
		if !known {
			continue
		}
		rules = append(rules, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": string(t)}}, "required": []string{"type"}},
			"then": map[string]any{"properties": map[string]any{"payload": payload.Schema()}},
		})
	}
	doc["allOf"] = rules
	return doc
}
