package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/telemetry"
)

// Outbox sends deliveries in the background. All methods are safe for concurrent use.
type Outbox struct {
	Options
	path string
	held *durable.Held
	wire wire

	stop  context.CancelFunc
	ended chan struct{} // closed when the sender is gone
	wake  chan struct{} // has room for one: there is something to do
	now   chan struct{} // has room for one: do it at once

	others map[string]bool // records of other runs, by event_id; only serve uses it

	mu     sync.Mutex // guards what follows, and the file
	file   *step.File
	size   int64 // of the file
	sent   int   // of the deliveries in the file, how many are done
	waste  int64 // bytes of these
	torn   bool  // the file could not be written, and has not been written anew since
	queue  []*parcel
	marks  map[string]int64
	open   map[string]openRecord
	to     To    // what the file says
	put    int64 // deliveries ever put, the ones that were found included
	done   int64 // of these, how many are done
	rounds int64 // that were begun
	failed int64 // the last of these that was given up
	why    error // of that one
	dead   int
	told   bool          // it was reported that another run has this id
	err    error         // of the file
	moved  chan struct{} // closed and made anew when done or failed changes
	closed bool
}

// Open opens the outbox at a path, which is made if it is missing; its folder must be
// there. What is in it is sent.
func Open(path string, o Options) (*Outbox, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	held, err := durable.TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	b := &Outbox{Options: o, path: path, held: held, wire: o.wire(), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		now: make(chan struct{}, 1), moved: make(chan struct{})}
	if err := b.load(); err != nil {
		if b.file != nil {
			b.file.Close()
		}
		return nil, errors.Join(err, held.Unlock())
	}
	var ctx context.Context
	ctx, b.stop = context.WithCancel(context.Background())
	go b.serve(ctx)
	return b, nil
}

// load reads the file and cuts off what is unfinished.
func (b *Outbox) load() error {
	var err error
	if b.file, err = durable.OpenFile(b.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	c, err := readFile(b.file)
	if err == nil {
		err = b.file.Truncate(c.size)
	}
	if err != nil {
		return durable.Failure("read", b.path, err)
	}
	for _, text := range c.bad {
		if err := b.setAside(nil, text, 0, "it cannot be read"); err != nil {
			return err
		}
	}
	if b.others, err = b.disowned(); err != nil {
		return err
	}
	b.size, b.sent, b.queue, b.marks, b.open, b.to = c.size, c.sent, c.waiting, c.marks, c.open, c.to
	b.put = int64(len(b.queue))
	if len(c.bad) > 0 {
		b.rewrite() // or they would be found again
	}
	if b.err != nil {
		return b.err
	}
	return b.bindDestination()
}

// Put adds deliveries. It does not wait until they are sent.
func (b *Outbox) Put(all ...telemetry.Delivery) { b.PutMarked("", 0, all...) }

// PutMarked adds deliveries and stores a number under a name: of a run, how many events of its log were followed.
// Both are kept, or neither.
func (b *Outbox) PutMarked(name string, at int64, all ...telemetry.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	var text []byte
	for _, d := range all {
		if !fitLine(&d) {
			b.trouble(fault.New(fault.InvalidText, "telemetry delivery %s %.80s is not a request", d.Method, d.EventID))
			continue
		}
		text = formatDelivery(text, d)
		b.queue = append(b.queue, &parcel{Delivery: d})
		b.put++
		noteRunning(b.open, d)
	}
	if name != "" {
		b.marks[name] = at
		text = formatLine(text, line{Mark: name, At: &at})
	}
	b.write(text)
	telemetry.Signal(b.wake)
}

// fitLine brings a delivery into one line, and reports whether it can be read again.
func fitLine(d *telemetry.Delivery) bool {
	if bytes.IndexByte(d.Body, '\n') >= 0 {
		var one bytes.Buffer
		if json.Compact(&one, d.Body) != nil {
			return false
		}
		d.Body = one.Bytes()
	}
	_, ok := line{Method: d.Method, Path: d.Path(), Body: d.Body}.delivery()
	return ok && json.Valid(d.Body)
}

// write appends to the file. Once it failed nothing is written until all of it is anew:
// a mark must not be there without what was put before it.
func (b *Outbox) write(text []byte) {
	if b.torn || len(text) == 0 {
		return
	}
	n, err := b.file.WriteAt(text, b.size)
	if err != nil {
		b.torn = true
		b.trouble(durable.Failure("write", b.path, err))
		return
	}
	b.size += int64(n)
}

// trouble remembers and reports an error of the file; the caller holds mu.
func (b *Outbox) trouble(err error) {
	b.err = err
	b.Report(err)
}

// Made reports whether a delivery changes a record that was created here and has not ended.
func (b *Outbox) Made(d telemetry.Delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, open := b.open[d.EventID]
	return open && d.Method == http.MethodPatch
}

// Marked returns the number that PutMarked stored last under a name, or 0.
func (b *Outbox) Marked(name string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.marks[name]
}

// Unsent returns the number of deliveries that wait.
func (b *Outbox) Unsent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.put - b.done)
}

// Dead returns the number of deliveries that were refused since the outbox was opened.
func (b *Outbox) Dead() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead
}

// Err returns the last error of the file, or nil.
func (b *Outbox) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Wake starts sending at once, also to a service that did not answer lately. It does not wait.
func (b *Outbox) Wake() { telemetry.Signal(b.now) }

// Flush returns when everything that was put before is sent or refused. If the service does not answer, or ctx ends,
// the error holds how many deliveries wait; they are kept and sent later.
func (b *Outbox) Flush(ctx context.Context) error {
	b.mu.Lock()
	target, begun := b.put, b.rounds // a round that is under way may have begun before
	b.mu.Unlock()
	for {
		b.mu.Lock()
		done, given, why, moved, closed := b.done >= target, b.failed > begun, b.why, b.moved, b.closed
		waiting := b.put - b.done
		b.mu.Unlock()
		switch {
		case done:
			return nil
		case given || closed:
			return b.unsent(waiting, why)
		}
		b.Wake()
		select {
		case <-moved:
		case <-ctx.Done():
			return b.unsent(waiting, ctx.Err())
		}
	}
}

func (b *Outbox) unsent(n int64, why error) error {
	err := fault.New(fault.Failed, "%d telemetry deliveries are not sent: %w", n, why)
	if why == nil {
		err = fault.New(fault.Failed, "%d telemetry deliveries are not sent", n)
	}
	return err.WithHint("they stay in %s and are sent when the service answers", b.path)
}

// Close stops sending and unlocks the outbox. Deliveries that wait stay in the file.
func (b *Outbox) Close() error {
	b.mu.Lock()
	already := b.closed
	b.closed = true
	b.mu.Unlock()
	b.stop()
	<-b.ended
	if already {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent > 0 || b.torn || slices.ContainsFunc(b.queue, func(p *parcel) bool { return p.done }) {
		b.rewrite()
	}
	close(b.moved)
	b.moved = make(chan struct{})
	return errors.Join(durable.Failure("close", b.path, b.file.Close()), b.held.Unlock())
}
