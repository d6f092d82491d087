// Package public is the JSON that ramet shows to programs: agents, letters, entries, the
// events of a turn, errors. The command line (--json), HTTP and the socket between
// kernels all write these shapes, so that one description (docs/json.md) holds for them.
//
// # Promises
//
//   - Fields may be added, never renamed or removed.
//   - What is absent is null; a field of an event that the event does not have is left out.
//   - Times are UTC with microseconds (Stamp).
//   - Format and Event are inverse: nothing of an event is lost on the way but the cause of
//     its error.
package public
