package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"ramet/internal/base/bus"
	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// stateWait is how long another kernel may take to say what its agents do: whoever asks
// has a face to draw.
const stateWait = 150 * time.Millisecond

// States asks the kernel of that name what its agents do; not ok: it is not of this
// machine, or does not answer at once.
func (p Folder) States(ctx context.Context, owner string) (map[id.Agent]state.State, bool) {
	instance, ok := p.instance(owner)
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	out, err := ask[map[id.Agent]state.State](ctx, p.client(owner, instance), "/states", struct{}{})
	return out, err == nil
}

// Kernels are the names of those that live on this machine.
func (p Folder) Kernels() []string {
	instances, err := p.instances()
	if err != nil {
		return nil // whoever holds agents is asked all the same
	}
	out := make([]string, len(instances))
	for i, one := range instances {
		out[i] = p.owner(one)
	}
	return out
}

// watched are the events that /watch tells: what changes how agents are shown.
func watched(e loop.Event) bool {
	switch e.Type {
	case loop.Became, loop.Forked, loop.Killed:
		return e.Agent != ""
	}
	return false
}

// watch streams what the kernel's agents do, from now on; what they do at the moment comes
// first.
func (s *Server) watch(k Kernel, events *bus.Bus[loop.Event], w http.ResponseWriter, r *http.Request) {
	if _, err := read[struct{}](w, r); err != nil {
		refuse(w, err)
		return
	}
	seen, enough := events.Subscribe(r.Context())
	defer enough()
	flush, out := http.NewResponseController(w), public.Encoder(w)
	tell := func(e loop.Event) bool {
		return errors.Join(out.Encode(public.Format(e)), flush.Flush()) == nil
	}
	for a, now := range k.States() {
		e := loop.Event{Type: loop.Became, Agent: a, State: &now}
		if now.Word == "" { // only commands of it run: whoever wants to know looks
			e.State = nil
		}
		if !tell(e) {
			return
		}
	}
	if flush.Flush() != nil {
		return
	}
	for e := range seen {
		if watched(e) && !tell(e) {
			return
		}
	}
}

// Watch tells what the agents of the other kernels of this machine do, until ctx ends: of
// those that are there, and of those that come. lost is called when one is gone.
func (p Folder) Watch(ctx context.Context, but func() string, tell func(loop.Event), lost func()) {
	var all sync.WaitGroup
	defer all.Wait()
	var mu sync.Mutex
	known := map[string]bool{}
	every := watchEvery
	stirred, told := durable.WatchFolder(ctx, p.dir)
	if told {
		every = watchAnyway
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	again := make(chan struct{}, 1) // one that could not be followed may only have begun
	for {
		instances, _ := p.instances() // where they cannot be listed, nobody is there
		for _, i := range instances {
			if mine, ok := p.instance(but()); ok && mine == i {
				continue
			}
			mu.Lock()
			fresh := !known[i]
			known[i] = true
			mu.Unlock()
			if !fresh {
				continue
			}
			all.Go(func() {
				p.follow(ctx, i, tell)
				mu.Lock()
				delete(known, i)
				mu.Unlock()
				lost()
				time.AfterFunc(watchEvery, func() {
					select {
					case again <- struct{}{}:
					default:
					}
				})
			})
		}
		select {
		case <-tick.C:
		case <-stirred:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// watchEvery is how often new kernels are looked for: a face must not be late by more than
// 200 ms.
const watchEvery = 100 * time.Millisecond

// watchAnyway is how often where the system tells of changes in the folder.
const watchAnyway = 5 * time.Second

// follow reads what one kernel tells, until it ends.
func (p Folder) follow(ctx context.Context, instance string, tell func(loop.Event)) {
	answer, err := p.client("", instance).post(ctx, "/watch", struct{}{})
	if err != nil {
		return
	}
	defer answer.Body.Close()
	lines := json.NewDecoder(bufio.NewReader(answer.Body))
	for {
		var l public.Line
		if lines.Decode(&l) != nil {
			return
		}
		tell(l.Event())
	}
}
