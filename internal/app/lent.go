package app

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/launch/sandbox"
	"ramet/internal/tools/mcp"
)

// lent are servers that an editor lends an agent. They are its user's, and are held as
// those of the configuration are; what they are given is taken as it is.
func (m serverMaker) lent(given []config.Server) []mcp.Server {
	var out []mcp.Server
	for _, c := range given {
		s := mcp.Server{Name: c.Name, Dir: m.ws.Place.Project, URL: c.URL, Headers: maps.Clone(c.Headers)}
		if c.Command != "" {
			s.Command = append([]string{c.Command}, c.Args...)
			m.hold(&s, c.Env, nil)
			if m.boxed != nil {
				s.Box = nil // the user's own program, which nothing here can confine
			}
		}
		out = append(out, s)
	}
	return out
}

// lending are the pools of servers that were lent in this process.
type lending struct{ pools []*mcp.Pool }

// pool is the pool of these servers; a new one for others. The caller has the mutex.
func (l *lending) pool(servers []mcp.Server, cache string) *mcp.Pool {
	for _, p := range l.pools {
		if reflect.DeepEqual(p.Servers, servers) {
			return p
		}
	}
	p := &mcp.Pool{Servers: servers, Cache: cache, Version: version}
	l.pools = append(l.pools, p)
	return p
}

// borrowed is the pool of the workspace, which may be nil, with the servers that somebody lends an
// agent; one that the workspace has under the same name is used instead.
func (t *tools) borrowed(ctx context.Context, a agent.Agent, own *mcp.Pool) *mcp.Pool {
	given := t.request.Servers().Lent(ctx, a.ID)
	var all []mcp.Server
	if own != nil {
		all = slices.Clone(own.Servers)
	}
	given = slices.DeleteFunc(slices.Clone(given), func(c config.Server) bool {
		return slices.ContainsFunc(all, func(s mcp.Server) bool { return s.Name == c.Name })
	})
	if len(given) == 0 {
		return own
	}
	m := serverMaker{ws: t.request.Workspace, hide: t.hidden, boxed: sandbox.Available()}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lending.pool(append(all, m.lent(given)...), filepath.Join(t.request.Home, "mcp"))
}

// closeLent ends the servers that were lent.
func (t *tools) closeLent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.lending.pools {
		p.Close()
	}
	t.lending.pools = nil
}
