// Package storetest is the suite that every store must pass: what each verb promises and refuses, many writers at the
// same time, tampering that must be detected, and a comparison with a naive model after any sequence of verbs.
//
//	func TestConformance(t *testing.T) { storetest.Run(t, fresh) }
//
// Every test ends with an audit of the workspace it used, except where it has tampered with it.
//
// # Drawings
//
// Tests of forks draw their histories:
//
//	root ─ m1 ─ m2 ─ m3 ─ m4 ─ m5
//	                 └─ m6 ─ m7 (child)
//
// Each line is one agent. The first begins with the name of the root; every other begins with └─ or ├─ and names its
// agent in brackets, after its entries or before them. Above the corner is the fork point: the parent's entry, or the
// parent's name for a fork before its first entry. A line that begins with &─ is one more child of the fork above it.
// Lines of only │ are decoration. Entries are separated by ─ and read:
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
// The number in m4 is the id of the entry, and things happen in the order of ids, across all agents. An entry without a
// number has the id after the one to its left; at the beginning of a line, after the largest of the lines above. A fork
// happens right after its fork point.
//
// DrawTree returns an in-memory history.Log with exactly these ids. The suite plays the same drawings through the
// registry's verbs, and TreeModel is an independent, naive implementation of what a context is.
package storetest
