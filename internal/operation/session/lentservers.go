package session

import (
	"context"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/config"
)

// lentServers are MCP servers that editors lend agents, in memory only.
type lentServers struct {
	mu sync.Mutex
	of map[id.Agent][]config.Server
}

// Lend lets an agent, and those below it that have none of their own, use MCP servers besides those of the workspace.
func (w Servers) Lend(a id.Agent, servers []config.Server) {
	w.ws.lent.mu.Lock()
	defer w.ws.lent.mu.Unlock()
	if w.ws.lent.of == nil {
		w.ws.lent.of = map[id.Agent][]config.Server{}
	}
	w.ws.lent.of[a] = servers
}

// Lent returns the servers that were lent to an agent, or else to the nearest above it.
func (w Servers) Lent(ctx context.Context, a id.Agent) []config.Server {
	for a != "" {
		w.ws.lent.mu.Lock()
		servers, known := w.ws.lent.of[a]
		none := len(w.ws.lent.of) == 0
		w.ws.lent.mu.Unlock()
		if known || none {
			return servers
		}
		row, err := w.ws.Store.Agent(ctx, a)
		if err != nil {
			return nil
		}
		a = row.Parent
	}
	return nil
}
