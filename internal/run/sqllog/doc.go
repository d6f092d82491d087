// Package sqllog keeps the events of a run in a database: an SQLite file of their
// own, or a table of a PostgreSQL server that many runs share.
//
// A row is a line: its run, its number, its event's id, and the exact bytes that
// would be in the file of package ndjson, without the line feed. So an export
// is the same bytes wherever the log is kept, and verification is the same too.
//
// A commit is one transaction, durable when it returns (SQLite: synchronous FULL;
// PostgreSQL: as the server is set up), shared by concurrent callers (see
// package run). There is one writer for each run:
//
//   - SQLite: the process that holds the lock on <path>.lock;
//   - PostgreSQL: the process that holds the advisory lock of the run. It belongs to the
//     session of one connection, and every write goes through that very
//     connection. So a writer whose connection is lost, and with it the lock, cannot write
//     any more. It takes both again, for a minute, and continues if the log ends where it left
//     it, with what it was writing or without; otherwise another process has the run: FENCED.
//
// A pooler that hands sessions around between transactions breaks this: the URL
// has to name the server itself.
package sqllog
