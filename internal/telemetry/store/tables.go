package store

import "strings"

// fileSteps returns the statements that make the tables, oldest first. A step that was released is never changed; the
// number of steps is the version.
func fileSteps() []string {
	return []string{tableText("INTEGER PRIMARY KEY", "BLOB", "INTEGER") + " STRICT" + indexes}
}

func serverSteps() []string {
	return []string{tableText("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA", "BIGINT") + indexes}
}

// tableText returns the statement that makes the table. It is written once for both engines, which call the same
// types by other names.
func tableText(seq, bytes, integer string) string {
	return strings.NewReplacer("SEQ", seq, "BYTES", bytes, "INT", integer).Replace(`CREATE TABLE telemetry_runs (
	seq           SEQ,
	event_id      TEXT  NOT NULL UNIQUE,
	run_id        TEXT  NOT NULL UNIQUE,
	parent_run_id TEXT,
	agent_name    TEXT  NOT NULL,
	job_type      TEXT  NOT NULL,
	status        TEXT  NOT NULL,
	start_time    INT   NOT NULL, -- microseconds since 1970
	created_at    INT   NOT NULL,
	trace_id      TEXT,           -- of the context
	body_hash     TEXT  NOT NULL, -- of what created it
	record        BYTES NOT NULL, -- JSON, but for these two objects
	metrics_json  BYTES,
	context_json  BYTES
)`)
}

// indexes serve one filter each, and give its records in the order of a list. That of
// parents has all that is needed to walk a tree.
const indexes = `;
CREATE INDEX telemetry_parent  ON telemetry_runs (parent_run_id, seq, run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX telemetry_trace   ON telemetry_runs (trace_id, seq) WHERE trace_id IS NOT NULL;
CREATE INDEX telemetry_agent   ON telemetry_runs (agent_name, seq);
CREATE INDEX telemetry_job     ON telemetry_runs (job_type, seq);
CREATE INDEX telemetry_status  ON telemetry_runs (status, seq);
CREATE INDEX telemetry_created ON telemetry_runs (created_at);
CREATE INDEX telemetry_start   ON telemetry_runs (start_time)`
