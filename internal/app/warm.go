package app

import (
	"runtime"
	"sync"

	"ramet/internal/deep"
	"ramet/internal/history"
	"ramet/internal/tool"
)

// What every turn needs, and nothing decides about, is made beside the start of a process that will carry
// out turns: where there is a second processor, it is there when the first turn comes.

// warm makes what is the same for all agents.
func warm() {
	if runtime.GOMAXPROCS(0) > 1 {
		go deep.Verb(func() {
			_, _ = history.Entry{Meta: []byte("{}")}.Decode()
		})()
	}
}

// worded makes, once, what a model is told of tools, which their shapes keep.
type worded struct{ once sync.Once }

func (w *worded) warm(b tool.Box) {
	if runtime.GOMAXPROCS(0) > 1 {
		w.once.Do(func() { go deep.Verb(func() { b.Offer() })() })
	}
}
