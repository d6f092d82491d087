// Package loop is one turn of an agent, as a function over ports:
//
//	context → provider → tools → entries → context → …
//
// until the model stops calling tools. It knows no store, no process and no
// screen. Same context, same model, same tools: same entries.
//
// # Promises
//
//   - Persist, then show: an entry is durable (Journal.Append has returned) before
//     an event tells of it. Only deltas of a running reply come earlier, and what
//     was shown of one is handed to Journal.Streaming, so that a crash keeps it.
//   - A reply that did not end is never an answer: none of its calls run, and what
//     was shown of it becomes an interrupted entry.
//   - Every call gets a result, in the order of the calls, whatever happens: also
//     when it is refused, denied, unknown, malformed or cancelled.
//   - Whatever the history is, the request is one that providers accept: see
//     Conversation.
//   - Limits end a turn with a fault that says which: BUDGET_EXCEEDED,
//     LOOP_DETECTED.
package loop
