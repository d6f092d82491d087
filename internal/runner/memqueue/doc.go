// Package memqueue is the queue of a run that one process carries out: it is held in
// memory.
//
// # Promises
//
//   - It is a runner.Queue and a runner.Host, and keeps what they promise.
//   - Nothing is stored: the log says what waits, and the next process enqueues it again.
//   - An attempt that is enqueued while a place is free begins at once.
//   - After Close nothing of it is left.
package memqueue
