package app

import (
	"runtime"
	"sync"

	"ramet/internal/turn/tool"
)

// worded makes, once, what a model is told of tools, which their shapes keep. Every turn needs it, and nothing
// decides about it: where there is a second processor, it is made beside what comes before the first one.
type worded struct{ once sync.Once }

func (w *worded) warm(b tool.Box) {
	if runtime.GOMAXPROCS(0) > 1 {
		w.once.Do(func() { go func() { b.Offer() }() })
	}
}
