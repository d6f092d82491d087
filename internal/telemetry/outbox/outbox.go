// Package outbox delivers telemetry, in order, without ever holding up the work.
//
// # Promises
//
//   - Put writes to a file and returns; it waits for no network and for no fsync. Deliveries that a power cut loses
//     are made again from the event log: telemetry.Follow makes the same deliveries of the same events, and Marked
//     returns how far it got.
//   - What was put before a crash of the process is sent after it.
//   - A change is never sent before the creation of its record, and changes of a record
//     are sent in their order.
//   - After no answer, a timeout or 5xx a delivery is tried again after 1, 2 and 4 s; then it stays here and is
//     tried again later, until it is accepted. A delivery that is sent twice is the same both times.
//   - 4xx is never tried again: it goes to the dead letters, with the answer, and is
//     reported.
//   - A record of this machine that another run has under the same id is not changed: what would
//     have been sent goes to the dead letters, and that is reported once.
//   - An outbox remembers its destination: opening it with another one is refused (CONFLICT). The file does not
//     hold the token; a process without a way to the destination keeps the deliveries.
//   - One process at a time: a second is LOCKED.
//   - The token is in no file and in no error.
//
// # Files
//
// The outbox is JSON lines. An unfinished last line is cut off; a line that cannot be read
// goes to the dead letters.
//
//	{"to":"http://…","token":true}                       where it goes, and whether with a token; the first line
//	{"method":"POST","path":"/api/v1/runs","body":{…}}   a delivery
//	{"sent":3}                                           the first three are done
//	{"mark":"NAME","at":7}                               see PutMarked
//	{"open":{"event_id":…,"run_id":…,"start_time":…}}    created, running, sent; see Made
//
// The dead letters are in NAME.dead.jsonl beside it: {"at","method","path","body",
// "status","answer"}.
package outbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

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

// Options describes the destination of deliveries. Exactly one of URL and Local is set.
type Options struct {
	URL   string // of the service, such as http://127.0.0.1:8765
	Token string // bearer token; empty: none
	// Local is a store of this process, for a ramet that keeps its own telemetry.
	Local telemetry.Store
	// Name names the store Local, or the destination that Nowhere cannot reach.
	Name string
	// Nowhere is set if this process has no way to the destination: everything waits.
	Nowhere bool
	// Pauses lists the delays before each retry; nil: 1, 2 and 4 s.
	Pauses []time.Duration
	// Later is the delay before a service that did not answer is tried again; 0: 30 s.
	Later time.Duration
	// Timeout of one request; 0: 5 s.
	Timeout time.Duration
	// Report receives refusals and errors of the file, from one goroutine at a time; it must not call the outbox.
	// nil: see Dead and Err.
	Report func(error)
}

func (o *Options) complete() error {
	if o.Pauses == nil {
		o.Pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	if o.Later == 0 {
		o.Later = 30 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Nowhere {
		if o.URL != "" || o.Local != nil || o.Name == "" {
			return fault.New(fault.InvalidConfig, "an outbox that sends nothing has a name and no destination")
		}
		return nil
	}
	if (o.URL == "") == (o.Local == nil) {
		return fault.New(fault.InvalidConfig, "telemetry goes to a service or to a store: one of them, not both")
	}
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fault.New(fault.InvalidConfig, "the address of the telemetry service is not an http or https URL").
			WithHint("set TELEMETRY_API_URL to something like http://127.0.0.1:8765")
	}
	return nil
}

// To returns the destination as the file names it.
func (o *Options) To() To {
	if o.URL == "" {
		return To{Name: o.Name}
	}
	return To{Name: Address(o.URL), Token: o.Token != ""}
}

// wire returns the way to the destination.
func (o *Options) wire() wire {
	switch {
	case o.Nowhere:
		return func(context.Context, string, []*parcel) error { return fmt.Errorf("they are kept for %s", o.Name) }
	case o.Local != nil:
		return local{o.Local}.send
	}
	return newRemote(o).send
}

// To is the destination of an outbox, as in its file.
type To struct {
	Name  string // the address of a service, or the name of a store; empty: it does not say
	Token bool   // the service is asked with a token
}

// Service reports whether the destination is reached over HTTP.
func (t To) Service() bool {
	return strings.HasPrefix(t.Name, "http://") || strings.HasPrefix(t.Name, "https://")
}

// Address returns the URL of a service as the file may hold it: without user and password.
func Address(service string) string {
	u, err := url.Parse(service)
	if err != nil {
		return ""
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/")
}

// Destination reads the destination of the outbox at a path. It is empty for a file that is missing, unfinished, or
// of an older version.
func Destination(path string) (To, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return To{}, nil
	}
	if err != nil {
		return To{}, durable.Failure("open", path, err)
	}
	defer f.Close()
	first, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return To{}, nil // unfinished
	}
	l, err := parseLine(first[:len(first)-1])
	if err != nil {
		return To{}, nil
	}
	return To{l.To, l.Token}, nil
}

// bindDestination writes the destination into the file, or refuses a file with another one.
func (b *Outbox) bindDestination() error {
	own := b.Options.To()
	switch {
	case own.Name == "" || own == b.to, b.to.Name == own.Name && b.Nowhere: // what the file says of tokens is known to others
	case b.to.Name == "" || b.to.Name == own.Name:
		b.to = own
		b.rewrite()
	default:
		return fault.New(fault.Conflict, "%s goes to %s, not to %s", b.path, b.to.Name, own.Name).
			WithHint("what waits for one destination is given to no other")
	}
	return b.err
}
