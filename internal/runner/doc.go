// Package runner carries out runs: it is the orchestrator of a recipe.
//
// # Promises
//
//   - The log is the truth. An event is durable before anything follows from it;
//     whoever opens the log again goes on exactly there.
//   - Only the orchestrator changes states, queues items, retries and routes. A worker
//     is told one item, gives back its outputs, and never tries again by itself.
//   - An item is done only while the log says that its attempt is current: a worker asks
//     before it starts (Orchestrator.Claim), and whoever was overtaken is refused (FENCED).
//   - Work that was completed is not done again while its inputs and outputs are what
//     they were. What was interrupted is discarded and done again as the next attempt;
//     what acts outside the run is looked up first, or reported as UNKNOWN_OUTCOME.
//   - Gates only look. What they find is an issue; one issue is mended at a time, and an
//     issue that stays after its attempts ends the run.
//   - Outputs hold no id of a run, no time and no place of a machine, so that two runs
//     over the same inputs can be compared byte by byte.
//
// # How work travels
//
//	orchestrator: WORK_ITEM_QUEUED, durable → Queue.Enqueue
//	queue: hands the id to one host
//	host: Orchestrator.Claim → (orchestrator: WORK_ITEM_STARTED) → Item with all it needs
//	host: Executor.Do; every model call is reported (Orchestrator.Report)
//	host: Orchestrator.Deliver → (orchestrator: files, ARTIFACT_WRITTEN…, WORK_ITEM_FINISHED)
//
// On one machine the orchestrator is the orchestrator itself; between machines it is package
// post. Nothing else knows the difference.
package runner
