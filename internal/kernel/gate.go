package kernel

import (
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/driver/gateway"
)

// gate is the kernel's gateway, which opens with the first program that needs one.
type gate struct {
	mu   sync.Mutex
	open *gateway.Gate // guarded by mu
	shut bool          // the kernel has stopped; guarded by mu
}

// cut closes the ways of agents that are dead.
func (g *gate) cut(victims []id.Agent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		g.open.Cut(victims...)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = true; g.open != nil {
		g.open.Close()
	}
}
