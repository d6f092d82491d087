package acpagent

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/turn/loop"
)

// happenings remember what was told, for those who have to come after it.
type happenings struct {
	mu      sync.Mutex
	ended   map[int64]bool  // turns
	called  map[string]bool // calls that the editor knows
	changed chan struct{}   // closed at the next change
}

// mostRemembered bounds both: who waits does so at once.
const mostRemembered = 4096

func (h *happenings) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ended) > mostRemembered {
		clear(h.ended)
	}
	if len(h.called) > mostRemembered {
		clear(h.called)
	}
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// patience limits the wait for events that were published already.
const patience = 10 * time.Second

func (h *happenings) wait(turn int64) { h.until(func() bool { return h.ended[turn] }) }

func (h *happenings) known(call string) { h.until(func() bool { return h.called[call] }) }

func (h *happenings) until(is func() bool) {
	late := time.After(patience)
	for {
		h.mu.Lock()
		yes, changed := is(), h.changed
		h.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// follow tells the editor what agents of its sessions do, also where nobody prompted them here:
// a letter may have woken them.
func (d *desk) follow(ctx context.Context) {
	seen, _ := d.Kernel.Events.Subscribe(ctx)
	for e := range seen {
		d.happened(e)
	}
}

func (d *desk) happened(e loop.Event) {
	if e.Type == loop.TurnEnded && fault.Is(e.Err, fault.Leased) {
		d.happen.note(func() { d.happen.ended[e.Turn] = true })
		return // it did not begin; another kernel is asked for it
	}
	if c := d.server.of(e.Agent); c != nil {
		c.show(e)
	}
	if e.Type == loop.TurnEnded {
		d.happen.note(func() { d.happen.ended[e.Turn] = true })
	}
}
