// Package runlog has what all forms of a run's log share: verified reading and grouped writing.
//
// Each line carries its own hash and the hash before it. So lines are parsed and hashed in any order, on all cores;
// only the comparison of neighbours, the run's name and the uniqueness of ids need the order. Memory does not grow
// with the log, except for the set of ids (see run.Chain). Only verified events are yielded. A defect is reported
// with its line and byte, after the events before it.
//
// A Committer appends for many callers, which share one durable write. Drafts are linked in the order of the calls;
// those that do not fit are refused to their caller alone. Nothing is acknowledged before the sink made it durable,
// and after a failure that leaves the end of the log unknown nothing more is written.
package runlog
