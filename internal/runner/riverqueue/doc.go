// Package riverqueue is the queue of runs between hosts: River, on PostgreSQL.
//
// # Promises
//
//   - It is a runner.Queue and a runner.Host, and keeps what they promise.
//   - The log is the truth, the queue is derived from it and may be lost at any time. A
//     job is an id; a host that is handed one asks the orchestrator before it does anything. So a job
//     that is handed out twice is done once, and one whose item is over ends at once.
//   - A job of a living host is never handed out a second time, however long it takes:
//     River's jobs have no timeout, and its rescue by age leaves alone what has none.
//     Whether a host is alive is not known to River (see package mailbox); what a dead one
//     had is put in again by Takeover.
//   - What a lost connection leaves is found within seconds: jobs that River takes
//     for ours and that are not done here are put in again, cancelled ones end.
//   - Nothing is printed, and nothing but ids is stored: no text of an error, which may
//     hold what a repository holds. After Close no goroutine is left.
//
// # On River
//
// Only its public interface is used. A queue of runs is a queue of River, a host is a
// client of it, with its own limit. A job is unique by its id and its round. River neither
// ends nor deletes the row of a job that a dead host was doing; so that row is cancelled
// and marked, and the job continues in another row, of the next round. River's own rescue
// ends rows that were cancelled, and its cleaner deletes them.
//
// The tables are in a schema of their own next to the workspace's. A host's name has to
// be unique among those that are alive.
package riverqueue
