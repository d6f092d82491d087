package control

import (
	"ramet/internal/base/id"
	"ramet/internal/turn/loop"
)

// Family is an agent and those forked since it is watched.
type Family map[id.Agent]bool

// Knows says whether an event is about one of the family, and takes in those that
// are born.
func (f Family) Knows(e loop.Event) bool {
	if !f[e.Agent] {
		return e.Agent == "" // about the kernel
	}
	for _, c := range e.Children {
		f[c] = true
	}
	return true
}
