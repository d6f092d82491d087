// Package control is how ramet processes of one machine reach each other: each
// kernel listens on a Unix socket of its own, in a folder of its workspace, and
// holds a lock beside it for as long as it lives.
//
//	<home>/kernels/<workspace>/<instance>.lock   held while the kernel lives
//	<home>/kernels/<workspace>/<instance>.sock   answers HTTP
//	<home>/kernels/<workspace>/serve[.lock]      which of them serves
//
// The folder is 0700 and the files are 0600: whoever can open them is the user.
// The name under which a kernel holds leases says host, process and instance, so
// that anybody who meets a lease knows where to ask, and can tell whether the
// holder is dead: its lock is free then, at once, however it died.
//
// The protocol is HTTP with JSON. It is between processes of the same ramet: a
// different version is refused and said so. An answer that takes time is a stream
// of lines, one event each (public.Line), as `ramet exec --json` prints them.
//
// One kernel of a workspace may announce that it serves (Announce); then others hand
// their turns to it (Serving). What its agents ask is told to those who watch, and the
// first answer counts (Answerer).
//
// A process that ends finishes what others asked of it first (Finish), unless it was
// told to stop.
package control
