package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"ramet/internal/operation/public"

	"ramet/internal/base/id"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/turn/loop"
)

// StartEvents begins to gather events. Stop ends it.
func StartEvents(ctx context.Context, o EventsOptions) (*Events, error) {
	setDefault(&o.Most, 10_000)
	setDefault(&o.Bytes, 32<<20)
	setDefault(&o.Readers, 512)
	setDefault(&o.Look, 100*time.Millisecond)
	setDefault(&o.Beat, 15*time.Second)
	setDefault(&o.Pace, 25*time.Millisecond)
	var b [6]byte
	rand.Read(b[:]) // never fails
	e := &Events{o: o, epoch: hex.EncodeToString(b[:]), kept: make([]happening, o.Most), first: 1, next: 1, look: make(chan struct{}, 1)}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	// First the bus, then the feed: what comes between the two comes by the bus.
	e.box = o.Bus.Box(e.ctx)
	from, err := o.Feed.Latest(ctx)
	if err != nil {
		e.cancel()
		return nil, err
	}
	e.work.Go(e.gatherOn)
	e.work.Go(func() { e.follow(from) })
	return e, nil
}

// gather distributes the published events. A caller that looks for events does this first, so that no event waits while
// a reader could get it.
func (e *Events) gather() {
	e.gathering.Lock()
	defer e.gathering.Unlock()
	for _, one := range e.box.Take() {
		e.Publish(one)
	}
}

func (e *Events) gatherOn() {
	for {
		select {
		case <-e.box.Rings():
			e.gather()
		case <-e.ctx.Done():
			return
		}
	}
}

// follow distributes the entries and messages of the feed that were not published here, mostly those of other processes.
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
			e.Publish(loop.Event{Type: loop.Note, Text: "events of other processes are late: " + err.Error()})
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

func (e *Events) drain(from registry.Cursor) (registry.Cursor, error) {
	const page = 256
	for {
		ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
		changes, next, err := e.o.Feed.Changes(ctx, from, page)
		cancel()
		if err != nil {
			return from, err
		}
		e.gather() // the words of an answer are told before its entry
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
