// Package public defines the JSON that ramet shows to programs: agents, mail, entries, the events of a turn,
// errors. The command line (--json), HTTP and the socket between kernels all write these shapes, so that one
// description (docs/json.md) covers them.
//
//   - Fields may be added, never renamed or removed.
//   - Absent values are null; an event omits the fields that it does not have.
//   - Times are UTC with microseconds (Stamp).
//   - Format and Event are inverse: of an event only the cause of its error is lost.
//
// # Home
//
// MakeHome returns the rows of the home screen for the terminal, the page and HTTP: one for each living agent,
// grouped by what a person can do about it.
//
//	needs you   asks, needs a key, failed, interrupted
//	working     works, waits, or left a command running
//	done        its task succeeded; the newest first
//	idle        nothing is running
//
// It is a function of its input: no clock, no store. Inside a group the tree order is kept; a row whose parent is
// in another group has a Path. Agents of a run are folded into the row of the run, unless they need a person.
// Every text is one line, and safe to show.
package public
