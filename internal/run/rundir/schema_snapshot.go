package rundir

import (
	"ramet/internal/base/shape"
	"ramet/internal/run"
)

// orNull is for fields that are always there and may have no value.
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
