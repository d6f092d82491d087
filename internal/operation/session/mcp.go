package session

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/operation/public"
	"ramet/internal/tools/mcp"
)

// Pool is the MCP servers of the workspace as they are configured and accepted now; nil: there
// are none. The note tells people what is not used. Those that run go on running until the
// workspace is closed, or nobody has called them for a while.
func (w Servers) Pool() (*mcp.Pool, string, error) {
	if w.ws.system.MCP == nil {
		return nil, "", nil
	}
	made, note, err := w.ws.system.MCP(w.ws)
	if err != nil || made == nil {
		return nil, note, err
	}
	return w.Keep(made), note, nil
}

// Keep returns the pool that has the same servers as another, which is kept until the workspace is closed if there is
// none.
func (w Servers) Keep(made *mcp.Pool) *mcp.Pool {
	w.ws.servers.Lock()
	defer w.ws.servers.Unlock()
	for _, p := range w.ws.pools {
		if reflect.DeepEqual(p.Servers, made.Servers) {
			return p
		}
	}
	w.ws.pools = append(w.ws.pools, made)
	return made
}

// closePools stops all servers.
func (w *Workspace) closePools() {
	w.servers.Lock()
	defer w.servers.Unlock()
	for _, p := range w.pools {
		p.Close()
	}
	w.pools = nil
}

// Servers lists the MCP servers. Nothing is started.
func (w Servers) List() (public.Servers, error) {
	out := public.Servers{Servers: []public.Server{}}
	for _, c := range w.ws.Config.Servers {
		if c.Off {
			out.Servers = append(out.Servers, public.Server{Name: c.Name, Scope: "user", Command: append([]string{}, c.Command), URL: public.Optional(mcp.Server{URL: c.URL}.Address()), State: "off", Notes: []string{}})
		}
	}
	p, note, err := w.Pool()
	if err != nil {
		return out, err
	}
	out.Note = public.Optional(note)
	if p == nil {
		return out, nil
	}
	for _, s := range p.Servers {
		one := public.Server{Name: s.Name, Scope: "user", Command: s.Command, URL: public.Optional(s.Address()), State: "unasked", Confined: s.Box != nil, Why: public.Optional(s.Why), Notes: []string{}}
		if one.Command == nil {
			one.Command = []string{}
		}
		if s.Project {
			one.Scope = "project"
		}
		if l, ok := p.Known(s.Name); ok {
			n := len(l.Tools)
			one.State, one.Tools = "known", &n
			one.Notes = append(one.Notes, l.Notes...)
		}
		if s.Why != "" {
			one.State = "unusable"
		}
		out.Servers = append(out.Servers, one)
	}
	return out, nil
}

// pooled is the pool, which must be there.
func (w Servers) pooled() (*mcp.Pool, error) {
	p, note, err := w.Pool()
	switch {
	case err != nil:
		return nil, err
	case p == nil && note != "":
		return nil, fault.New(fault.NotFound, "no MCP server: %s", note)
	case p == nil:
		return nil, fault.New(fault.NotFound, "there is no MCP server").WithHint("ramet mcp add NAME -- COMMAND…")
	}
	return p, nil
}

// ServerTools asks a server for its tools; with no name, all of them.
func (w Servers) ServerTools(ctx context.Context, name string) (public.ServerTools, error) {
	out := public.ServerTools{Tools: []public.ServerTool{}, Notes: []string{}}
	p, err := w.pooled()
	if err != nil {
		return out, err
	}
	for _, s := range p.Servers {
		if name != "" && s.Name != name || name == "" && s.Why != "" {
			continue
		}
		l, err := p.Ask(ctx, s.Name)
		if err != nil {
			return out, err
		}
		for _, d := range l.Tools {
			out.Tools = append(out.Tools, public.ServerTool{Name: d.Name, Server: s.Name, Tool: d.Tool, Description: d.Description, ReadOnly: d.ReadOnly, Schema: d.Schema,
				Digest: d.Digest, Changed: public.Optional(d.Changed())})
		}
		for _, n := range l.Notes {
			out.Notes = append(out.Notes, s.Name+": "+n)
		}
		if name != "" {
			return out, nil
		}
	}
	if name != "" {
		_, err = p.Ask(ctx, name) // which says what there is instead
	}
	return out, err
}

// AcceptServer makes the tools of a server, as they are now, those that rules by name permit, and
// returns them.
func (w Servers) AcceptServer(ctx context.Context, name string) (public.ServerTools, error) {
	p, err := w.pooled()
	if err != nil {
		return public.ServerTools{}, err
	}
	if _, err := p.Ask(ctx, name); err != nil {
		return public.ServerTools{}, err
	}
	if err := p.Accept(name); err != nil {
		return public.ServerTools{}, err
	}
	return w.ServerTools(ctx, name)
}

// CallServer calls a tool for a person, who need not be asked.
func (w Servers) CallServer(ctx context.Context, server, tool string, args json.RawMessage) (public.ServerCall, error) {
	p, err := w.pooled()
	if err != nil {
		return public.ServerCall{}, err
	}
	if l, ok := p.Known(server); ok { // by the name that models use, too
		for _, d := range l.Tools {
			if d.Name == tool {
				tool = d.Tool
			}
		}
	}
	r, err := p.Call(ctx, server, tool, args)
	if err != nil {
		return public.ServerCall{}, err
	}
	if r.Outcome == mcp.Refused {
		return public.ServerCall{}, r.Why
	}
	return public.ServerCall{Server: server, Tool: tool, Outcome: r.Outcome, Text: r.Text, TookMS: r.Took.Milliseconds()}, nil
}

// loginTime limits the time a person may take to log in.
const loginTime = 10 * time.Minute

// LoginServer lets a person log in at an MCP server; show is given the address to open.
func (w Servers) LoginServer(ctx context.Context, server string, show func(address string)) (public.ServerLogin, error) {
	out := public.ServerLogin{Server: server, Outcome: "logged in"}
	p, err := w.pooled()
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	asked, err := p.Login(ctx, server, func(address string) { show(text.Line(address, 4000)) })
	if err == nil && !asked {
		out.Outcome = "no login is needed"
	}
	return out, err
}

// LogoutServer forgets a login.
func (w Servers) LogoutServer(server string) (public.ServerLogin, error) {
	out := public.ServerLogin{Server: server, Outcome: "logged out"}
	p, err := w.pooled()
	if err != nil {
		return out, err
	}
	there, err := p.Logout(server)
	if err == nil && !there {
		out.Outcome = "there was no login"
	}
	return out, err
}

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
