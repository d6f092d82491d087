package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// published is one schema: how it is made, what checks a document, and the code of
// one that does not fit.
type published struct {
	name, title, description string

	body  func() map[string]any
	check func([]byte) error
	code  fault.Code
}

var all = sync.OnceValue(func() []published {
	return []published{
		{"event", "Event of a run", "One line of events.ndjson. Lines are in RFC 8785 form; event_hash is the SHA-256 of " +
			"event_id, ts, type, payload and prev_hash, one behind the other. Types that are not listed here have any payload.",
			eventSchema, checkEvent, fault.InvalidEvent},
		{"issue", "Issue of a run", "Something that a gate found, as the snapshot keeps it.", issue().Schema, issue().Check, fault.InvalidEvent},
		{"recipe", "Recipe of a run", "What a run does in each of its states, for editors: YAML that is read as JSON. `ramet run recipe FILE` " +
			"looks at more: who makes which input, circles, templates.", recipeSchema, checkRecipe, fault.InvalidRecipe},
		{"run_config", "Configuration of a run", "What a run is asked to do. It is copied when the run is made; members that " +
			"are not listed here belong to the recipe.", runConfig().Schema, runConfig().Check, fault.InvalidConfig},
		{"snapshot", "Snapshot of a run", "What the first event_count events of a run amount to: a cache, always equal to their replay.",
			snapshot().Schema, snapshot().Check, fault.InvalidEvent},
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

func findSchema(name string) (published, error) {
	for _, p := range all() {
		if p.name == name {
			return p, nil
		}
	}
	return published{}, fault.New(fault.NotFound, "no schema %.60q", name).
		WithHint("%s", text.NearestHint(name, SchemaNames(), "there are "+strings.Join(SchemaNames(), ", ")))
}

// id is the $id of a schema. The number grows when documents that were good are
// not good any more.
func (p published) id() string { return "urn:ramet:schema:" + p.name + ":1" }

// MakeSchema is the text of a schema: two spaces, sorted keys, a line feed at the end.
func MakeSchema(name string) ([]byte, error) {
	p, err := findSchema(name)
	if err != nil {
		return nil, err
	}
	doc := p.body()
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["$id"], doc["title"], doc["description"] = p.id(), p.title, p.description
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode schema %s: %w", name, err)
	}
	return text.Bytes(), nil
}
