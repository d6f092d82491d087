// Package mailbox is the orchestrator between machines: workers reach the orchestrator of a run
// through a PostgreSQL database, and share no disk with it.
//
// # Promises
//
//   - A worker's Client is a runner.Orchestrator. Each call is one request with an id of its own.
//     It is put again after a lost connection until it is answered or its context ends;
//     put twice it is one row, and what was answered once is answered from the row.
//   - ServeRun, next to the orchestrator, takes the requests of its run, calls the orchestrator, and
//     answers. A request that was taken and not answered, because the orchestrator died,
//     is taken again by the next one; the orchestrator's verbs allow that.
//   - Errors travel with their codes: FENCED stays FENCED.
//   - Only the newest Serve of a run answers. Its epoch says how new it is; the check
//     and the answer are one statement.
//   - No call waits for an orchestrator that is gone: where none has been seen for a
//     while, the call ends with NOT_FOUND, so that hosts are free for other runs.
//   - Contents are kept by their SHA-256 and compared with it when they are read.
//   - Contents may be secrets of a repository. Rows are deleted when they have been read,
//     and everything of a run when it is over (Clear). No password is stored.
//   - An orchestrator keeps a handover record and copies of its files (PutHandover, PutFile), before the log
//     names them. A run whose orchestrator has not been seen for a lease, and did not release
//     it, can be taken over by one host (ClaimHandover); from then on the other is refused.
//   - Hosts are alive by the clock of the database, not by their own.
//
// Notifications carry ids only; a process that misses one looks by itself before long. A pooler that lends sessions for single transactions delivers none: it
// works with one, slower.
package mailbox
