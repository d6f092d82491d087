// Package run is the record of an orchestrated job: an append-only, hash-chained
// list of events, and the pure functions over it. Nothing here does any I/O, and
// nothing here executes work.
//
// # The event line
//
// An event is one line: a JSON object in RFC 8785 form (no spaces, keys sorted,
// shortest strings) and a line feed. Its members, in this order:
//
//	event_hash event_id [parent_span_id] payload prev_hash run_id span_id trace_id ts type
//
// event_id is a lower-case UUID, ts an RFC 3339 time in UTC ending in Z, type
// matches [A-Z_]+, trace_id is 32 and the span ids are 16 lower-case hex digits,
// run_id matches [A-Za-z0-9_-]{1,64}, payload is an object. Loading accepts these
// bytes and no others: an equal line in another form is damage.
//
// # The hash
//
//	event_hash = SHA-256(event_id + ts + type + payload + prev_hash)
//
// as 64 lower-case hex digits: the UTF-8 concatenation of the members as they
// are in the line, payload as its bytes there (never decoded and encoded
// again), prev_hash the event_hash of the line before, "" for the first line of
// a run. The fixed forms above make the concatenation unambiguous. run_id,
// trace_id and the span ids are not covered by the hash; checkpoints, which
// cover whole lines, do that.
//
// # The tree
//
// A checkpoint is a signed head of the Merkle tree (RFC 6962, as in Go's checksum
// database) whose leaves are the lines, without their line feeds; see Tree.
//
// # Reading and writing
//
// All forms of a log share verified reading (VerifiedStream) and linking (Appender): nothing is acknowledged before
// the form made it durable, and after a failure that leaves the end of the log unknown nothing more is written.
//
// # Evolution
//
// Types that a newer version writes are kept and not reduced. The formula and the
// line's form do not change; golden vectors fix them.
package run
