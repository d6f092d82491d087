// Package tape is the one way from a run to a model: a decorator around a provider that
// records every call in the run's log.
//
// # Promises
//
//   - Nothing is sent before LLM_CALL_STARTED is durable, and nothing that was sent ends
//     without LLM_CALL_FINISHED or LLM_CALL_FAILED: also when the consumer breaks off, the
//     context ends or the stream stops without an end. Only the death of the process
//     leaves a start alone.
//   - The end of a call is passed on after it was recorded. What cannot be recorded has
//     failed.
//   - A budget that is used up (BUDGET_EXCEEDED, of Options.Budget or of the orchestrator) stops a
//     call before anything is reported or sent.
//   - Names of calls are the same each time an item is done: see Sequence.
//   - Evidence holds the request and the answer; what Options.Redact finds is replaced in it
//     and in the words of failures, and the file says so.
//   - An answer of the cache is the answer that was given then, event by event, but for
//     what left the process (sent, retry), and for usage, which is zero: nothing was
//     used. It is reported as LLM_CACHE_HIT alone. Answers in which Redact finds something
//     are not kept.
//
// # Hashes
//
// All are SHA-256, lower-case hex, of JSON in RFC 8785 form; of the text as it is encoded
// where it has no such form (a number that no double holds).
//
//	prompt_hash       the messages of the request
//	tool_schema_hash  its tools
//	output_hash       the parts of the answer
//	cache_key         {"attempt", "format", "max_tokens", "messages", "model", "provider",
//	                  "temperature", "tools", and where they are asked for "no_calls",
//	                  "schema", "search"}, where messages and tools are the hashes of
//	                  their texts as encoded: two that differ never share an answer

package runner
