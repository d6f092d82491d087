package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// Events is what happens in a workspace, kept for a while, for those who watch it over
// HTTP. It promises:
//
//   - Everything that the kernel publishes, and every entry and letter that becomes
//     durable, whoever wrote it, is told once, under an id that grows.
//   - A reader that goes on from an id it was given gets all that came behind it, or is
//     told that it is too late for that.
//   - Whoever publishes never waits for a reader, and no reader for another. What is
//     kept is bounded; a reader has nothing but a place in it.
type Events struct {
	o      EventsOptions
	epoch  string // begins all ids: the ids of another process mean nothing here
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	look   chan struct{} // has room for one: there may be something in the feed

	gathering sync.Mutex // taken before mu
	box       *loop.EventBox

	readers atomic.Int64

	mu    sync.Mutex
	kept  []happening // a ring: number n stands at n % len
	first int64       // number of the oldest that is kept
	next  int64       // number of the next one
	bytes int
	wake  chan struct{} // closed with the next one; nil: nobody waits
	told  recent        // entries that came by the bus, and not by the feed yet
	fed   recent        // entries that came by the feed, and not by the bus yet
}

// EventsOptions configures events.
type EventsOptions struct {
	Bus  *loop.EventBus // what the kernel publishes
	Feed registry.Feed
	Hide func(string) string // takes secrets out of a line; nil: none
	// How much is kept, and so how far a reader may be behind; 0: 10,000 events, 32 MiB.
	Most, Bytes int
	// Readers limits the number of readers; 0: 512.
	Readers int
	// Look is the interval for reading the feed of other processes' events; 0: 100 ms.
	Look time.Duration
	// Beat is the interval of the keep-alive of a silent stream; 0: 15 s.
	Beat time.Duration
	// Pace is the least time between two writes to one reader, 0: 25 ms; more where there
	// are many (see share). What comes in between is written together.
	Pace time.Duration
}

// share is the writing time of one reader: about 1,000 writes a second, however many readers there are. Otherwise
// hundreds of readers would take the processor from the agents they watch.
const share = time.Millisecond

// pace is the time between two writes to one reader now.
func (e *Events) pace() time.Duration {
	return max(e.o.Pace, time.Duration(e.readers.Load())*share)
}

// enter takes one more reader, or refuses it.
func (e *Events) enter() error {
	if n := e.readers.Add(1); n > int64(e.o.Readers) {
		e.readers.Add(-1)
		return Refuse(http.StatusTooManyRequests, fault.Conflict, fmt.Sprintf("%d readers watch already, and there is room for no more: close one, or raise max_streams", n-1))
	}
	return nil
}

// spread is when a reader that waited is written to: they all wake at once.
func (e *Events) spread() time.Duration {
	n := e.readers.Load()
	if n <= 1 {
		return 0
	}
	return time.Duration(mathrand.Int64N(n * int64(share)))
}

type happening struct {
	text   []byte
	agent  id.Agent
	parent id.Agent   // if an agent begins: whose child it is
	born   []id.Agent // whom it tells of
}

// EventLine is the data of one event.
type EventLine struct {
	public.Line
	Durable bool `json:"durable"`       // it can be read again, with the agent's messages or mail
	Cut     bool `json:"cut,omitempty"` // too large for an event: some of it is left out
}

// Stop ends all streams and returns when nothing is gathered any more.
func (e *Events) Stop() {
	e.cancel()
	e.work.Wait()
}

// Publish tells an event of this process, or of a turn that it asked another for.
func (e *Events) Publish(one loop.Event) {
	switch {
	case one.Type == loop.Mailed: // the letter stands in the feed
		e.hurry()
		return
	case one.Type == loop.TurnEnded && fault.Is(one.Err, fault.Leased):
		return // it did not begin; another kernel is asked for it
	case one.Type == loop.Forked || one.Type == loop.Killed: // so do the entries
		e.hurry()
	}
	h := happening{agent: one.Agent, born: one.Children}
	line := EventLine{Line: public.Format(one), Durable: one.Type == loop.Recorded}
	if one.Entry != nil {
		h = about(*one.Entry)
	}
	e.tell(line, h, one.Entry, &e.fed, &e.told)
}

// tell puts an event behind the others, unless it is an entry that came the other way.
func (e *Events) tell(line EventLine, h happening, entry *history.Entry, other, own *recent) {
	data := e.encode(line)
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry != nil {
		if other.take(entry.ID) {
			return
		}
		own.put(entry.ID)
	}
	e.keep([]byte(data), h)
}

// keep puts an event behind the others; the caller has the mutex.
func (e *Events) keep(data []byte, h happening) {
	n := e.next
	h.text = make([]byte, 0, len("id: -\ndata: \n\n")+len(e.epoch)+20+len(data))
	h.text = append(append(append(h.text, "id: "...), e.epoch...), '-')
	h.text = append(append(strconv.AppendInt(h.text, n, 10), "\ndata: "...), data...)
	h.text = append(h.text, "\n\n"...)
	for e.next-e.first >= int64(len(e.kept)) || e.next > e.first && e.bytes+len(h.text) > e.o.Bytes {
		e.drop()
	}
	e.kept[n%int64(len(e.kept))] = h
	e.bytes += len(h.text)
	e.next++
	if e.wake != nil {
		close(e.wake)
		e.wake = nil
	}
}

// drop forgets the oldest; the caller has the mutex.
func (e *Events) drop() {
	old := &e.kept[e.first%int64(len(e.kept))]
	e.bytes -= len(old.text)
	*old = happening{}
	e.first++
}

func (e *Events) idLine(n int64) []byte {
	return append(strconv.AppendInt(append([]byte("id: "+e.epoch), '-'), n, 10), '\n')
}

func (e *Events) cursor(n int64) string { return e.epoch + "-" + strconv.FormatInt(n, 10) }

// encode makes one line of it, without anything that a terminal would obey.
func (e *Events) encode(line EventLine) string {
	out, err := encode(line)
	if err == nil && len(out) > maxLine {
		shorten(&line)
		out, err = encode(line)
	}
	if err != nil {
		return `{"type":"note","text":"an event could not be told","durable":false}` // what is stored is JSON
	}
	one := strings.TrimSuffix(string(out), "\n")
	if e.o.Hide != nil {
		one = public.Hide(one, e.o.Hide)
	}
	return text.JSON(one)
}

// maxLine is the largest event that is sent as it is.
const maxLine = 256 << 10

// shorten leaves out of a large event what can be read elsewhere.
func shorten(l *EventLine) {
	const most = 16 << 10
	l.Cut = true
	l.Text = clip(l.Text, most)
	if l.Outcome != nil {
		o := *l.Outcome
		o.Text = clip(o.Text, most)
		l.Outcome = &o
	}
	if l.Error != nil {
		f := *l.Error
		f.Message = clip(f.Message, most)
		l.Error = &f
	}
	if l.Message != nil {
		m := *l.Message
		m.Parts = boundedParts(m.Parts)
		l.Message = &m
	}
}

// What is written at once has no more, or one event.
const (
	maxBatch      = 1024
	maxBatchBytes = 64 << 10
)

// isFull reports whether more events may follow a batch.
func isFull(batch []happening) bool {
	size := 0
	for _, h := range batch {
		size += len(h.text)
	}
	return len(batch) == maxBatch || size >= maxBatchBytes
}

// after returns the events after number at, up to number last, or how to wait for
// them. late says that some of it is gone.
func (e *Events) after(at int64) (batch []happening, last int64, late bool, wait <-chan struct{}) {
	e.gather()
	e.mu.Lock()
	defer e.mu.Unlock()
	if at < e.first-1 {
		return batch, at, true, nil
	}
	size := 0
	for n := at + 1; n < e.next && len(batch) < maxBatch && size < maxBatchBytes; n++ {
		h := e.kept[n%int64(len(e.kept))]
		batch, size = append(batch, h), size+len(h.text)
	}
	if len(batch) == 0 && e.wake == nil {
		e.wake = make(chan struct{})
	}
	return batch, at + int64(len(batch)), false, e.wake
}

// bounds are the numbers of the first event that is kept and of the last.
func (e *Events) bounds() (oldest, newest int64) {
	e.gather()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first, e.next - 1
}

// place reads a cursor; late says that one cannot go on from there.
func (e *Events) place(cursor string) (at int64, late bool, err error) {
	oldest, newest := e.bounds()
	if cursor == "" {
		return newest, false, nil
	}
	epoch, number, _ := strings.Cut(cursor, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || len(epoch) != len(e.epoch) || strings.Trim(epoch, "0123456789abcdef") != "" || number != strconv.FormatInt(n, 10) {
		return 0, false, fault.New(fault.InvalidID, "%.80q is not the id of an event", cursor).WithHint("leave it out to begin with what happens now")
	}
	if epoch != e.epoch || n > newest || n < oldest-1 {
		return newest, true, nil
	}
	return n, false, nil
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

func (e *Events) hurry() {
	select {
	case e.look <- struct{}{}:
	default:
	}
}

// StartEvents begins to gather events. Stop ends it.
func StartEvents(ctx context.Context, o EventsOptions) (*Events, error) {
	o.Most = cmp.Or(o.Most, 10_000)
	o.Bytes = cmp.Or(o.Bytes, 32<<20)
	o.Readers = cmp.Or(o.Readers, 512)
	o.Look = cmp.Or(o.Look, 100*time.Millisecond)
	o.Beat = cmp.Or(o.Beat, 15*time.Second)
	o.Pace = cmp.Or(o.Pace, 25*time.Millisecond)
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

// mailed returns the event of a letter: its text is the sender.
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
