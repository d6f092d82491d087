package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Known returns what is remembered of a server's tools, without asking it.
func (p *Pool) Known(name string) (List, bool) {
	h, err := p.holder(name)
	if err != nil {
		return List{}, false
	}
	p.mu.Lock()
	l, ok := p.lists[name]
	p.mu.Unlock()
	if ok {
		return l, true
	}
	return p.kept(h.server)
}

// Ask asks a server for its tools, and remembers them.
func (p *Pool) Ask(ctx context.Context, name string) (List, error) {
	h, err := p.holder(name)
	if err != nil {
		return List{}, err
	}
	c, give, err := p.take(ctx, h)
	if err != nil {
		return List{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	h.mu.Lock()
	h.stale = false
	h.mu.Unlock()
	l, err := listTools(ctx, h.server, c.session)
	give(err != nil)
	if err != nil {
		return List{}, c.failure(ctx, h.server, err)
	}
	before, _ := p.Known(name)
	addDigests(h.server, before, l.Tools)
	p.mu.Lock()
	p.lists[name] = l
	p.mu.Unlock()
	p.keep(h.server, l)
	return l, nil
}

// Lists returns the tools of all servers. Those of whom nothing is known are asked, side by side
// and for at most so long; why are the ones of which nothing is known then.
func (p *Pool) Lists(ctx context.Context, patience time.Duration) (lists []List, why []string) {
	p.begin()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, failed := make([]*List, len(p.Servers)), make([]string, len(p.Servers))
	var work sync.WaitGroup
	for i, s := range p.Servers {
		if s.Why != "" {
			continue
		}
		if l, ok := p.Known(s.Name); ok && !p.isStale(s.Name) {
			found[i] = &l
			continue
		}
		work.Go(func() {
			l, err := p.Ask(ctx, s.Name)
			if err != nil {
				failed[i] = fmt.Sprintf("MCP server %s is not used in this turn: %v", s.Name, err)
				return
			}
			found[i] = &l
		})
	}
	work.Wait()
	for i := range found {
		if found[i] != nil {
			lists = append(lists, *found[i])
		}
	}
	return lists, slices.DeleteFunc(failed, func(s string) bool { return s == "" })
}

func (p *Pool) isStale(name string) bool {
	h := p.held[name]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stale
}
