// Package ledger is the record of spawned sub-agents: agent-history.json, with one
// entry for each, and current-agent-id.txt, which names the one that was started
// last. Other tools read and write the same two files.
//
// It promises:
//
//   - An entry goes spawned → completed | failed | timeout | interrupted, and
//     interrupted → resumed | failed. The same status twice changes nothing;
//     anything else is ILLEGAL_TRANSITION and names what would be legal.
//   - Whatever others wrote stays: unknown fields, unknown statuses, entries that are
//     none, the order of keys, and the spelling of everything that is not changed.
//   - Over max_entries the oldest finished tasks are dropped, whole chains of
//     resumes at once. Who is running, or interrupted and not resumed, is never
//     dropped; then the file stays over.
//   - Order is that of the file. Times are for people and for timeouts: a clock that
//     goes backwards changes no order, and nothing ends before it began.
//
// Everything here is a value and a rule. Folder, lock and fsync are in
// ledger/file.
package ledger

import "time"

// The two files of a state folder.
const (
	FileName    = "agent-history.json"
	PointerName = "current-agent-id.txt"
)

// layout is how times are written: UTC, milliseconds.
const layout = "2006-01-02T15:04:05.000Z"

// whole drops what the file does not hold of a time.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
