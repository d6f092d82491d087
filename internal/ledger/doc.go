// Package ledger records spawned sub-agents of other programs: agent-history.json, with one entry for each,
// and current-agent-id.txt, which names the one that was started last. Other tools read and write the same
// two files.
//
// A Sheet is the content of the file, without any I/O:
//
//   - An entry goes spawned → completed | failed | timeout | interrupted, and interrupted → resumed |
//     failed. The same status twice changes nothing; anything else is ILLEGAL_TRANSITION and names what
//     would be legal.
//   - What others wrote stays: unknown fields, unknown statuses, invalid entries, the order of keys, and
//     the spelling of everything that is not changed (Object).
//   - Over max_entries the oldest finished tasks are dropped, whole chains of resumes at once. A task that
//     is running, or interrupted and not resumed, is never dropped; then the file stays over the limit.
//   - The order is that of the file. Times are for people and for timeouts: a clock that goes backwards
//     changes no order, and nothing ends before it began.
//
// A Folder keeps it on disk, shared with other processes:
//
//   - What was returned is on disk: the file is written under a lock, synced and renamed, and the folder
//     synced. A failing write is tried three times; then it is an error, and nothing has changed.
//   - A file that cannot be read is kept as agent-history.json.corrupt-<time> and made again from a whole
//     temporary file that a killed writer left, else from summaries/*-SUMMARY.md, else empty.
//   - Changes that wait for the same lock are written together, in their order.
//   - The pointer is written after the file and not synced; one that names no entry is repaired by the next
//     writer.
//   - Reading takes no lock and writes nothing, unless there is something to repair.
//
// The lock is agent-history.json.lock. Tools that do not take it can lose an update of ours, as they can
// lose each other's.
//
// Claude Code reports its sub-agents through hooks in a settings.json. Only our own hooks are added and
// removed there. Our hook never exits with 2, which would keep a sub-agent from stopping, and prints
// nothing, which could become part of a conversation.
package ledger

import "time"

// The two files of a state folder.
const (
	FileName    = "agent-history.json"
	PointerName = "current-agent-id.txt"
)

// layout is the layout of times: UTC, milliseconds.
const layout = "2006-01-02T15:04:05.000Z"

// truncateTime drops what the file does not hold of a time.
func truncateTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
