package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Pool is the servers of one workspace in one process. Its methods are safe for concurrent
// use; the fields are set before.
type Pool struct {
	Servers []Server
	Cache   string        // folder where it is remembered what tools they have
	Version string        // of ramet, for the servers
	Idle    time.Duration // after which an unused server is stopped; 0: ten minutes

	once   sync.Once
	life   context.Context // ends with the pool
	end    context.CancelFunc
	mu     sync.Mutex
	held   map[string]*holder
	lists  map[string]List // of this process, guarded by mu
	closed bool
	// inquire asks a person; nil: no person is asked. Guarded by mu.
	inquire Inquire
}

// A server is started at most so often in so long.
const (
	mostStarts  = 4
	startWindow = 5 * time.Minute
)

// holder holds one server.
type holder struct {
	server Server

	turn   chan struct{} // held while it is started or stopped
	mu     sync.Mutex
	now    *connection // nil: it does not run; guarded by mu, with what follows
	calls  int         // under way
	idle   *time.Timer
	starts []time.Time
	stale  bool // it said that its tools have changed
	// callers are those whose calls are under way, the newest last.
	callers []caller
}

func (p *Pool) begin() {
	p.once.Do(func() {
		p.life, p.end = context.WithCancel(context.Background())
		p.held, p.lists = map[string]*holder{}, map[string]List{}
		for _, s := range p.Servers {
			p.held[s.Name] = &holder{server: s, turn: make(chan struct{}, 1)}
		}
	})
}

// holder finds a server by its name.
func (p *Pool) holder(name string) (*holder, error) {
	p.begin()
	if h, ok := p.held[name]; ok {
		if h.server.Why != "" {
			return nil, fault.New(fault.Denied, "MCP server %s cannot be used: %s", name, h.server.Why)
		}
		return h, nil
	}
	var names []string
	for _, s := range p.Servers {
		names = append(names, s.Name)
	}
	f := fault.New(fault.NotFound, "no MCP server %.80q", name)
	return nil, f.WithHint("%s", text.NearestHint(name, names, "`ramet mcp list` lists them"))
}

// take gives the connection of a server, which is started if it does not run; give gives it
// back, and broken says that nothing more can be said over it.
func (p *Pool) take(ctx context.Context, h *holder) (c *connection, give func(broken bool), err error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	h.mu.Lock()
	c = h.now
	h.mu.Unlock()
	if c == nil {
		if err := h.mayStart(time.Now()); err != nil {
			return nil, nil, err
		}
		if c, err = p.connect(ctx, p.life, h.server); err != nil {
			return nil, nil, err // what was begun was ended
		}
	}
	h.mu.Lock()
	h.now = c
	h.calls++
	if h.idle != nil {
		h.idle.Stop()
	}
	h.mu.Unlock()
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	give = func(broken bool) { p.give(h, c, broken) }
	if closed {
		give(true)
		return nil, nil, fault.New(fault.Interrupted, "the servers were stopped")
	}
	return c, give, nil
}

func (p *Pool) give(h *holder, c *connection, broken bool) {
	h.mu.Lock()
	h.calls--
	drop := broken && h.now == c
	if drop {
		h.now = nil
	}
	if h.calls == 0 && h.now != nil {
		patience := cmp.Or(p.Idle, 10*time.Minute)
		h.idle = time.AfterFunc(patience, func() { p.rest(h) })
	}
	h.mu.Unlock()
	if drop {
		c.close()
	}
}

// rest stops an unused server.
func (p *Pool) rest(h *holder) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	h.mu.Lock()
	c := h.now
	if h.calls > 0 || c == nil {
		h.mu.Unlock()
		return
	}
	h.now = nil
	h.mu.Unlock()
	c.close()
}

// mayStart refuses a server that was started too often of late.
func (h *holder) mayStart(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.starts) > 0 && now.Sub(h.starts[0]) > startWindow {
		h.starts = h.starts[1:]
	}
	if len(h.starts) >= mostStarts {
		return fault.New(fault.Failed, "MCP server %s ended %d times within %s: it is not started again for a while", h.server.Name, mostStarts, startWindow).
			WithHint("see what it says: ramet mcp tools %s", h.server.Name)
	}
	h.starts = append(h.starts, now)
	return nil
}

// changed is told by a server that its tools have changed: it is asked when they are needed
// next, however often it says so.
func (p *Pool) changed(name string) {
	if h := p.held[name]; h != nil {
		h.mu.Lock()
		h.stale = true
		h.mu.Unlock()
	}
}

// Running reports whether a server runs, or is spoken with, now.
func (p *Pool) Running(name string) bool {
	p.begin()
	h := p.held[name]
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now != nil
}

// Close stops all servers, and returns when nothing of them runs.
func (p *Pool) Close() {
	p.begin()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	for _, h := range p.held {
		h.mu.Lock()
		c := h.now
		h.now = nil
		if h.idle != nil {
			h.idle.Stop()
		}
		h.mu.Unlock()
		if c != nil {
			c.close()
		}
	}
}

// kept returns what is remembered of a server's tools; ok is false if nothing is, or nothing that
// can be read: then it is asked.
func (p *Pool) kept(s Server) (l List, ok bool) {
	data, err := os.ReadFile(p.file(s))
	if err != nil || json.Unmarshal(data, &l) != nil || l.Fingerprint != s.Fingerprint() || l.Server != s.Name {
		return List{}, false
	}
	return l, true
}

// keep remembers it. Where it cannot, the server is asked again next time.
func (p *Pool) keep(s Server, l List) {
	data, err := json.Marshal(l)
	if err != nil || durable.MakeFolder(p.Cache, 0o700) != nil {
		return
	}
	_ = durable.WriteFile(p.file(s), append(data, '\n'), 0o600)
}

func (p *Pool) file(s Server) string { return filepath.Join(p.Cache, s.Fingerprint()+".json") }
