// Package runner carries out runs: the orchestrator of a recipe, the workers of one host (Crew), the built-in
// workers and gates that recipes name with `uses`, and the recorder of model calls (NewRecorder).
//
//   - The log is the truth. An event is durable before anything follows from it; a process that opens the log
//     again continues exactly there.
//   - Only the orchestrator changes states, queues items, retries and routes. A worker gets one item, returns its
//     outputs, and never retries by itself.
//   - An item is done only while its attempt is current in the log: a worker asks before it starts
//     (Orchestrator.Claim), and an attempt that was overtaken is refused (FENCED).
//   - Completed work is not done again while its inputs and outputs are unchanged. Interrupted work is discarded
//     and done again as the next attempt; what acts outside the run is looked up first, or reported as
//     UNKNOWN_OUTCOME.
//   - Gates only read. Their findings are issues; one issue is fixed at a time, and an issue that remains after its
//     attempts ends the run.
//   - Outputs contain no run id, no time and no path of a machine, so that two runs over the same inputs can be
//     compared byte by byte.
//
// # How work travels
//
//	orchestrator: WORK_ITEM_QUEUED, durable → Queue.Enqueue
//	queue: hands the id to one host
//	host: Orchestrator.Claim → (orchestrator: WORK_ITEM_STARTED) → Item with all it needs
//	host: Executor.Do; every model call is reported (Orchestrator.Report)
//	host: Orchestrator.Deliver → (orchestrator: files, ARTIFACT_WRITTEN…, WORK_ITEM_FINISHED)
//
// On one machine the host calls the orchestrator directly; between machines it goes through package mailbox.
//
// # Workers
//
//   - An item of an agent is done by an agent of its own, forked from the run's, in the ledger before it starts. It
//     can be killed (KILLED), stopped (INTERRUPTED) and has a time limit (TIMEOUT). When Do returns, it and its
//     subtree are dead.
//   - An agent has the tools that its task names and no others. Its commands run in the sandbox, its files are in a
//     folder of its own. An agent below a run that works on no item calls no model.
//   - A worktree begins with the commit of its bundle and the patches, and runs nothing of the repository: no hook,
//     no filter. The resulting patch depends on the two trees alone, without files that git ignores.
//   - An item of a command has an agent too, which calls no model: killing it ends the command. The command finds
//     its inputs below $RAMET_INPUTS and runs in the sandbox, unless it acts outside the run; that happens at most
//     once for a call of Do.
//   - A promised output that is missing or malformed is OUTPUT_INVALID, and the fault explains what to do better.
//   - Nothing is left in the folder when Do returns. What a killed process left is removed by the next one.
//
// Built-in workers can be repeated at any time, and execute nothing of a repository. A pull request is opened once
// for a key, and a branch that is not ours is not touched.
//
// # Gates
//
// The built-in gates know files and Markdown, and nothing of the subject. They run nothing and fetch nothing, and
// the same site gives the same findings in the same order. Of a file that existed before, only what the patch added
// is checked. The code of a finding is public and stays; its message has no line number, so that it is the same after
// the page has moved. A blocker must never be published (a secret, a path outside), an error keeps the run from
// continuing, a warning is reported.
//
// # Recorded model calls
//
//   - Nothing is sent before LLM_CALL_STARTED is durable, and every call that was sent ends with LLM_CALL_FINISHED or
//     LLM_CALL_FAILED, unless the process dies. The end is passed on after it was recorded.
//   - A used-up budget (BUDGET_EXCEEDED) stops a call before anything is reported or sent.
//   - Evidence holds the request and the answer, redacted.
//   - A cached answer is the recorded one, event by event, without usage. It is reported as LLM_CACHE_HIT alone.
//
// Hashes are SHA-256, lower-case hex, of JSON in RFC 8785 form, or of the text as encoded where it has no such form
// (a number that no double holds):
//
//	prompt_hash       the messages of the request
//	tool_schema_hash  its tools
//	output_hash       the parts of the answer
//	cache_key         {"attempt", "format", "max_tokens", "messages", "model", "provider",
//	                  "temperature", "tools", and where they are asked for "no_calls",
//	                  "schema", "search"}, where messages and tools are the hashes of
//	                  their texts as encoded: two that differ never share an answer
package runner
