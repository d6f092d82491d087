// Package treetest draws histories, so that a test of forks can be read at a
// glance:
//
//	root ─ m1 ─ m2 ─ m3 ─ m4 ─ m5
//	                 └─ m6 ─ m7 (child)
//
// # Grammar
//
// Each line is one agent. The first begins with the name of the root; every
// other begins with └─ or ├─ and names its agent in brackets, behind its
// entries or before them. What stands above the corner is the fork point: the
// parent's entry, or the parent's name for a fork before its first entry. A
// line that begins with &─ is one more child of the fork above it. Lines of
// only │ are for the eye.
//
// Entries are separated by ─ and read:
//
//	m4             a message of the user, with the text "m4"
//	clear          a clear; the sources write clear(m2) for one with id 2
//	mark(x) mark   a mark, with or without a label
//	rewind(m2)     a rewind to an entry
//	rewind(x)      to the newest mark of that label; without (x), of any
//	compact(m1..m3)  a summary for these
//	kill           the end of the agent
//	note, system … any other kind by its word
//	m4=mark(x)     any of them with its id
//
// # Order
//
// The number in m4 is the id of the entry, and things happen in the order of
// ids, across all agents. An entry without a number has the id after the one
// to its left; at the beginning of a line, after the largest of the lines
// above. A fork happens right after its fork point.
//
// # Uses
//
// Draw gives an in-memory history.Log with exactly these ids, whose agents are
// called by their names. The suite of the stores plays the same drawings
// through the registry's verbs. Examples are the drawings that both must read
// the same way, and Model is a second, naive opinion on what a context is.

package storetest
