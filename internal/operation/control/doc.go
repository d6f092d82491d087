// Package control starts and finds the background kernel (Place), and lets the kernels of one workspace on this machine
// meet (Folder).
//
// Each kernel listens on a Unix socket of its own, in a folder of its workspace, and holds a lock for as long as it lives:
//
//	<home>/kernels/<workspace>/<instance>.lock   held while the kernel lives
//	<home>/kernels/<workspace>/<instance>.sock   answers HTTP
//
// The folder is 0700 and the files are 0600, so only the user can open them. The name under which a kernel holds leases
// contains host, process and instance: a process that finds a lease knows where to ask, and whether the holder is dead.
// Its lock is free then, at once, however it died.
//
// The protocol is HTTP with JSON, between processes of the same ramet: a different version is refused. It has no verbs. A
// kernel is asked what its agents do, and told to look at agents (registry.Ring), as kernels of other hosts are through
// the database.
package control
