package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// published is one schema, and how it is made.
type published struct {
	name, title, description string

	body func() map[string]any
}

var all = sync.OnceValue(func() []published {
	return []published{
		{"event", "Event of a run", "One line of events.ndjson. Lines are in RFC 8785 form; event_hash is the SHA-256 of " +
			"event_id, ts, type, payload and prev_hash, one after the other. Types that are not listed here have any payload.", eventSchema},
		{"issue", "Issue of a run", "Something that a gate found, as the snapshot keeps it.", func() map[string]any { return run.IssueShape().Schema() }},
		{"recipe", "Recipe of a run", "What a run does in each of its states, for editors: YAML that is read as JSON. `ramet run recipe FILE` " +
			"looks at more: who makes which input, circles, templates.", func() map[string]any { return recipe.Shape().Schema() }},
		{"run_config", "Configuration of a run", "What a run is asked to do. It is copied when the run is made; members that " +
			"are not listed here belong to the recipe.", runConfig.Schema},
		{"snapshot", "Snapshot of a run", "What the first event_count events of a run amount to: a cache, always equal to their replay.", func() map[string]any { return run.SnapshotShape().Schema() }},
	}
})

// SchemaNames lists the schemas, sorted.
func SchemaNames() []string {
	names := make([]string, len(all()))
	for i, p := range all() {
		names[i] = p.name
	}
	return names
}

// MakeSchema is the text of a schema: two spaces, sorted keys, a line feed at the end.
func MakeSchema(name string) ([]byte, error) {
	at := slices.Index(SchemaNames(), name)
	if at < 0 {
		return nil, fault.New(fault.NotFound, "no schema %.60q", name).
			WithHint("%s", text.NearestHint(name, SchemaNames(), "there are "+strings.Join(SchemaNames(), ", ")))
	}
	p := all()[at]
	doc := p.body()
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	// The number of the $id grows when documents that were good are not good any more.
	doc["$id"], doc["title"], doc["description"] = "urn:ramet:schema:"+p.name+":1", p.title, p.description
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode schema %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// eventSchema returns the form of all events, and for each type the form of its payload.
func eventSchema() map[string]any {
	doc := run.EventShape().Schema()
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

// runConfig is the part of a run's configuration that every recipe understands.
var runConfig = shape.Open(
	shape.May("recipe", shape.Text(1).With("The name of a recipe, or the path of its file.")),
	shape.May("inputs", shape.List(shape.Open(
		shape.Must("name", shape.Text(1)),
		shape.Must("url", shape.Text(1)),
		shape.May("commit", shape.Text(1).With("Pins the input; without it, the newest commit when the run begins."))))),
	shape.May("limits", shape.Map(shape.Number(0, 1<<53-1)).With("Budgets by name.")),
	shape.May("set", shape.Map(shape.Text(0)).With("Values for the recipe.")),
)

// CheckSnapshot refuses a JSON document that is no snapshot of the published form. A refusal wraps a
// *shape.Error with the place.
func CheckSnapshot(doc []byte) error {
	return checkForm("snapshot", run.SnapshotShape(), fault.InvalidEvent, doc)
}

func checkForm(name string, form *shape.Shape, code fault.Code, doc []byte) error {
	if err := form.Check(doc); err != nil {
		return fault.New(code, "%s: %w", name, err).WithHint("`ramet schema %s` prints the form", name)
	}
	return nil
}
