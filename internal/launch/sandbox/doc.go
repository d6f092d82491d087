// Package guard looks after the names in a folder by which other programs execute
// something, unasked: a repository whose configuration names a monitor (the next git
// status runs it), tasks of an editor, variables of a shell, servers of an agent. See
// names.go for the table.
//
// A Watch is begun before a command runs and ended after it is dead:
//
//   - What is there at the beginning is told (Kept), so that it can be made read-only.
//   - What came meanwhile, at any depth, is judged at the end. The harmless stays: a
//     repository with the usual settings and without hooks, attributes of lines. The rest
//     is moved into quarantine, outside of the folder, and told.
//   - Nothing is made in the folder, not even for a moment. Nothing outside of it is
//     touched, whatever links do meanwhile.
//
// Where the process that began a watch is killed, another one can end it (State, Resume).
//
// Meanwhile is also when somebody else changes the folder: what a person makes there by
// hand while a command runs is judged like the rest. A command's names stand until it
// ends, or until Patrol has seen them twice; who uses the folder before may meet them.
//
// Looking costs a system call for each folder that did not change since the last look,
// and reading it where it did.

package sandbox
