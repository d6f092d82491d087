package llmtest

import (
	"context"
	"sync"
)

// ScriptGates are the gates of a script, which a test opens by name.
type ScriptGates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *ScriptGates) channel(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// Open opens a gate for good.
func (g *ScriptGates) Open(name string) {
	c := g.channel(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// Wait waits for a gate; it is a Gate.
func (g *ScriptGates) Wait(ctx context.Context, name string) error {
	select {
	case <-g.channel(name):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
