package httpapi

import (
	"context"
	"time"

	"ramet/internal/public"

	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/registry"
)

// hurry lets the feed be looked at now.
func (e *Events) hurry() {
	select {
	case e.look <- struct{}{}:
	default:
	}
}

// follow tells what stands in the feed: entries that nobody published here, of other
// processes above all, and letters.
func (e *Events) follow(from registry.Cursor) {
	tick := time.NewTicker(e.o.Look)
	defer tick.Stop()
	failing := false
	for {
		next, err := e.drain(from)
		from = next
		if e.ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			e.Publish(loop.Event{Type: loop.Note, Text: "what other processes do is told late: " + err.Error()})
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-e.look:
		case <-e.ctx.Done():
			return
		}
	}
}

// drain reads the feed to its end.
func (e *Events) drain(from registry.Cursor) (registry.Cursor, error) {
	const page = 256
	for {
		ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
		changes, next, err := e.o.Feed.Changes(ctx, from, page)
		cancel()
		if err != nil {
			return from, err
		}
		for _, c := range changes {
			switch {
			case c.Entry != nil:
				one := loop.Event{Type: loop.Recorded, Agent: c.Entry.Agent, Entry: c.Entry}
				e.tell(EventLine{Line: public.Format(one), Durable: true}, about(*c.Entry), c.Entry, &e.told, &e.fed)
			case c.Letter != nil:
				e.tell(EventLine{Line: public.Format(mailed(*c.Letter)), Durable: true}, happening{agent: c.Letter.To}, nil, nil, nil)
			}
		}
		from = next
		if len(changes) < page {
			return from, nil
		}
	}
}

// about is whom an entry is about.
func about(e history.Entry) happening {
	h := happening{agent: e.Agent}
	if e.Kind == history.Fork {
		if m, err := e.Decode(); err == nil {
			h.parent, h.born = m.Parent, m.Children
		}
	}
	return h
}

// mailed is the event of a letter: its text says from whom.
func mailed(l mail.Letter) loop.Event {
	from := "you"
	if l.From == id.Kernel {
		from = "the kernel"
	} else if l.From != "" {
		from = string(l.From)
	}
	return loop.Event{Type: loop.Mailed, Agent: l.To, Text: from}
}

// recent is a set of ids that forgets the oldest.
type recent struct {
	in    map[id.Message]bool
	order []id.Message
}

// mostRecent is far more than can be on the way between the bus and the feed.
const mostRecent = 1 << 16

func (r *recent) put(m id.Message) {
	if r.in == nil {
		r.in = map[id.Message]bool{}
	}
	r.in[m] = true
	r.order = append(r.order, m)
	if len(r.order) > mostRecent {
		old := r.order[:mostRecent/2]
		for _, m := range old {
			delete(r.in, m)
		}
		r.order = append([]id.Message(nil), r.order[mostRecent/2:]...)
	}
}

func (r *recent) take(m id.Message) bool {
	had := r.in[m]
	delete(r.in, m)
	return had
}
