// Package follow makes telemetry out of what happened: of the event log of a run
// (Follow), and of an agent's turn outside runs (Turn).
//
// # Promises
//
//   - It is pure: the same events give the same deliveries, byte by byte. So what was
//     lost on the way is made again from the log, and a service that had it already
//     sees a duplicate. What only the living process knows (host, environment) comes
//     separately, as changes; see Here.
//   - It is total: whatever the log holds, there is no error and no panic. What it does
//     not understand makes no record.
//   - For every LLM_CALL_* event there is exactly one llm_call with the event's trace_id
//     and span_id.
//   - A record is created before it is changed, and what began ends: with its own event,
//     with the end of what it belongs to, or with the next launch.
//   - Every body is one that package telemetry reads.
//
// # Launches
//
// The first launch of a run is its first event after RUN_CREATED or RUN_FORKED: a run
// that was only made has not been launched. A further launch begins with the first of
//
//   - RUN_REOPENED or RESUME_REWIND,
//   - RUN_STATE_CHANGED with the reason RUN_REOPENED, RESUME_REWIND or RESUME_FORCED,
//   - WORK_ITEM_FAILED with the code INTERRUPTED and the words of an orchestrator that
//     finds an item of a process that is gone,
//
// and what else of these, and of WORK_ITEM_INVALIDATED, follows directly belongs to it: a
// resume writes several. Whatever was open is closed as INTERRUPTED at the time of the
// last event before. A process that goes on in a stable state with nothing to discard
// writes nothing, so that the log does not tell it from the one before: it continues the
// launch.
//
// # Spans
//
// A record has the trace and the span of the event that began it. What began without an
// event of its own (the state in which a launch finds the run) has a span made of its
// run_id, as package runner makes those of items.

package telemetry
