// Package dbosqueue is the queue of runs on DBOS Transact: in an SQLite file for the
// one process that carries out a run, and on PostgreSQL between hosts.
//
// # Promises
//
//   - The log is the truth, the queue is derived from it and may be lost at any time.
//     A job is an id; whoever is handed one asks the desk before he does anything. So a
//     job that is handed out twice is done once, and one whose item is over ends at once.
//     DBOS's own recovery goes the same way: it can hand out, never decide.
//   - A job is handed out once for its id. One that ended well, or was cancelled, is not
//     handed out again unless Resume says so; one that was given back with an error was
//     not done, and is handed out again when it is enqueued again.
//   - Never more than parallel jobs are done at once by one Serve.
//   - What Serve leaves undone at its end waits again. What a dead host leaves undone is
//     given back by Takeover.
//   - Nothing is printed, no port is opened, no other table is touched; after Close no
//     goroutine is left.
//
// # In a file
//
// A job that waits is in memory, a job that was started is a workflow of DBOS in the
// file. DBOS looks for waiting workflows at intervals; starting them directly costs a
// fraction of a millisecond instead. The file is not synchronised at commits: after a
// power failure the log says what is waiting.
//
// # On a server
//
// A job that waits is a workflow in a queue of DBOS that no host polls. A host with a
// free place moves the oldest to a queue of its own, which it alone polls: the limits
// that DBOS keeps for a queue are those of all hosts, and ours differ from host to host.
// A host's name has to be unique among those that are alive.
package dbosqueue
