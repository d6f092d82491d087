package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// Pending is the answer of a call that goes on.
type Pending struct {
	Pending bool   `json:"pending"` // true
	Handle  string `json:"handle"`  // for wait
	Tool    string `json:"tool"`    // whose answer it will be
}

// How many calls that went on are kept, and for how long after they ended.
const (
	maxHandles = 1024
	handleTime = time.Hour
)

// handles are the calls that took too long.
type handles struct {
	now func() time.Time

	mu   sync.Mutex
	open map[string]*pending // guarded by mu
}

// pending is one of them.
type pending struct {
	caller Caller
	tool   string
	handle string // empty: it did not take too long
	done   chan struct{}
	out    json.RawMessage // after done
	err    error
	ended  time.Time // guarded by handles.mu; zero: it has not
}

// add keeps a call, and drops those that ended long ago or, where there are too many, the
// one that ended first.
func (h *handles) add(p *pending) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[string]*pending{}
	}
	oldest, at := "", time.Time{}
	for key, o := range h.open {
		switch {
		case o.ended.IsZero():
		case h.now().Sub(o.ended) > handleTime:
			delete(h.open, key)
		case oldest == "" || o.ended.Before(at):
			oldest, at = key, o.ended
		}
	}
	if len(h.open) >= maxHandles {
		if oldest == "" {
			return fault.New(fault.Conflict, "%d calls are already running", len(h.open)).WithHint("wait for some of them")
		}
		delete(h.open, oldest)
	}
	p.handle = "call-" + rand.Text()[:16]
	h.open[p.handle] = p
	return nil
}

func (h *handles) find(c Caller, key string) (*pending, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.open[key]
	if p == nil || p.caller != c {
		return nil, fault.New(fault.NotFound, "there is no call %.40q", key).
			WithHint("handles end with their process; ps and log show the result")
	}
	return p, nil
}

// finish keeps what came of a call.
func (h *handles) finish(p *pending, out json.RawMessage, err error) {
	h.mu.Lock()
	p.ended = h.now()
	h.mu.Unlock()
	p.out, p.err = out, err
	close(p.done)
}

// within runs a call; one that may be long becomes a handle when it is.
func (s *Server) within(ctx context.Context, c Caller, t tool, args json.RawMessage) (json.RawMessage, error) {
	if !t.long {
		ctx, cancel := context.WithTimeout(ctx, s.o.Patience)
		defer cancel()
		return t.run(ctx, s, c, args)
	}
	p := &pending{caller: c, tool: t.name, done: make(chan struct{})}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(s.life, cancel)
	go func() {
		defer cancel()
		defer stop()
		out, err := t.run(work, s, c, args)
		s.handles.finish(p, out, err)
	}()
	out, err := s.await(ctx, p, s.o.Patience)
	if err != nil && ctx.Err() != nil && t.reads {
		cancel() // nobody is left who would ask for it
	}
	return out, err
}

// await returns the result of a call, or its handle.
func (s *Server) await(ctx context.Context, p *pending, most time.Duration) (json.RawMessage, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-p.done:
		return p.out, p.err
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	case <-late.C:
	}
	if p.handle == "" {
		if err := s.handles.add(p); err != nil {
			return nil, err
		}
	}
	return encode(Pending{true, p.handle, p.tool})
}
