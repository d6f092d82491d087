package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		{"issue", "Issue of a run", "Something that a gate found, as the snapshot keeps it.", issue.Schema},
		{"recipe", "Recipe of a run", "What a run does in each of its states, for editors: YAML that is read as JSON. `ramet run recipe FILE` " +
			"looks at more: who makes which input, circles, templates.", recipeSchema},
		{"run_config", "Configuration of a run", "What a run is asked to do. It is copied when the run is made; members that " +
			"are not listed here belong to the recipe.", runConfig.Schema},
		{"snapshot", "Snapshot of a run", "What the first event_count events of a run amount to: a cache, always equal to their replay.", snapshot.Schema},
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

// recipeSchema returns the schema of recipes, which is made when a command needs it.
func recipeSchema() map[string]any { return recipe.Shape().Schema() }

// runConfig is the part of a run's configuration that every recipe understands.
var runConfig = shape.Open(
	shape.May("recipe", name.With("The name of a recipe, or the path of its file.")),
	shape.May("inputs", shape.List(shape.Open(
		shape.Must("name", name),
		shape.Must("url", name),
		shape.May("commit", name.With("Pins the input; without it, the newest commit when the run begins."))))),
	shape.May("limits", shape.Map(shape.Number(0, 1<<53-1)).With("Budgets by name.")),
	shape.May("set", shape.Map(schemaText).With("Values for the recipe.")),
)

// CheckSnapshot refuses a JSON document that is no snapshot of the published form. A refusal wraps a
// *shape.Error with the place.
func CheckSnapshot(doc []byte) error { return checkForm("snapshot", snapshot, fault.InvalidEvent, doc) }

func checkForm(name string, form *shape.Shape, code fault.Code, doc []byte) error {
	if err := form.Check(doc); err != nil {
		return fault.New(code, "%s: %w", name, err).WithHint("`ramet schema %s` prints the form", name)
	}
	return nil
}

// orNull returns the shape of a field that is always there and may have no value.
func orNull(s *shape.Shape) *shape.Shape { return shape.Either(s, shape.Null()) }

func enumOf[S ~string](list ...S) *shape.Shape {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return shape.Enum(out...)
}

var (
	hash       = shape.Hex(64)
	moment     = run.Moment()
	schemaText = shape.Text(0)
	name       = shape.Text(1)
	runState   = enumOf(run.States()...)
	file       = shape.Object(shape.Must("name", orNull(name)), shape.Must("path", name), shape.Must("sha256", orNull(hash)))
)

// issue is run.Issue.
var issue = shape.Object(
	shape.Must("error_code", orNull(name)),
	shape.Must("files", orNull(shape.List(name))),
	shape.Must("gate", name),
	shape.Must("issue_id", name),
	shape.Must("location", shape.Any().With("Where in the files, in the gate's own words; null: nowhere in particular.")),
	shape.Must("message", schemaText),
	shape.Must("opened_at", moment),
	shape.Must("resolved_at", orNull(moment)),
	shape.Must("severity", shape.Enum("info", "warn", "error", "blocker")),
	shape.Must("status", enumOf(run.IssueOpen, run.IssueInProgress, run.IssueDone)),
	shape.Must("suggested_fix", orNull(schemaText)),
)

var artifact = shape.Object(
	shape.Must("name", name),
	shape.Must("path", name),
	shape.Must("schema_id", name),
	shape.Must("sha256", hash),
	shape.Must("ts", moment),
	shape.Must("writer_worker", orNull(name)),
)

var gate = shape.Object(
	shape.Must("finished_at", orNull(moment)),
	shape.Must("issues", shape.List(name)),
	shape.Must("name", name),
	shape.Must("ok", orNull(shape.Bool())),
	shape.Must("runs", shape.Integer(1)),
	shape.Must("started_at", orNull(moment)),
)

var itemError = shape.Object(shape.Must("code", name), shape.Must("message", schemaText))

var failure = shape.Object(
	shape.Must("code", name),
	shape.Must("from_state", runState.With("The state in which it came.")),
	shape.Must("message", schemaText),
	shape.Must("ts", moment),
)

var pullRequest = shape.Object(
	shape.Must("bundle", orNull(name)),
	shape.Must("opened_at", moment),
	shape.Must("url", orNull(name)),
)

var workItem = shape.Object(
	shape.Must("attempt", shape.Integer(1)),
	shape.Must("effect", orNull(shape.Enum("local", "external"))),
	shape.Must("error", orNull(itemError)),
	shape.Must("finished_at", orNull(moment)),
	shape.Must("idempotency_key", orNull(name)),
	shape.Must("inputs", shape.List(file)),
	shape.Must("outputs", shape.List(file)),
	shape.Must("retryable", orNull(shape.Bool())),
	shape.Must("scope_key", name),
	shape.Must("started_at", orNull(moment)),
	shape.Must("status", enumOf(run.Pending, run.InProgress, run.Completed, run.ItemFailed, run.ItemSkipped)),
	shape.Must("work_item_id", name.With("{run_id}:{worker}:{attempt}:{scope_key}")),
	shape.Must("worker", name),
)

// snapshot is run.Snapshot.
var snapshot = shape.Object(
	shape.Must("artifacts", shape.List(artifact).With("The latest write of each name, sorted by name.")),
	shape.Must("created_at", moment),
	shape.Must("event_count", shape.Integer(1)),
	shape.Must("failure", orNull(failure)),
	shape.Must("gates", shape.List(gate).With("The latest run of each gate, sorted by name.")),
	shape.Must("issues", shape.List(issue).With("In the order they were opened.")),
	shape.Must("last_event_hash", hash),
	shape.Must("pr", orNull(pullRequest)),
	shape.Must("run_id", shape.Match(`[A-Za-z0-9_-]{1,64}`)),
	shape.Must("run_state", runState),
	shape.Must("schema_version", shape.Enum(run.SchemaVersion)),
	shape.Must("section_states", shape.Map(enumOf(run.SectionStates()...))),
	shape.Must("updated_at", moment),
	shape.Must("work_items", shape.List(workItem).With("In the order they were queued.")),
)
