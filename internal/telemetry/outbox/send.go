package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/telemetry"
)

// window limits the deliveries that are sent together.
const window = 128

// wire sends the parcels of a method that are not done, in order, and sets the outcome of each. An error means that the
// rest can be tried again.
type wire func(ctx context.Context, method string, all []*parcel) error

// parcel is a delivery that waits, or is on its way.
type parcel struct {
	telemetry.Delivery
	done    bool
	refusal *refusal // until it is reported
}

// refusal is the answer to a delivery that is never tried again.
type refusal struct {
	status int // of HTTP; 0: it was no HTTP
	answer string
}

// serve sends until ctx ends.
func (b *Outbox) serve(ctx context.Context) {
	defer close(b.ended)
	down := false
	later := time.NewTimer(0)
	defer later.Stop()
	for {
		wake := b.wake
		if down { // only the timer or Wake makes another try
			wake = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
			b.gather(ctx)
		case <-b.now:
		case <-later.C:
		}
		for b.waiting() > 0 {
			err := b.round(ctx, down)
			if ctx.Err() != nil {
				return
			}
			if down = err != nil; down {
				b.giveUp(err)
				later.Reset(b.Later)
				break
			}
			if n := b.waiting(); n > 0 && n < window {
				b.gather(ctx)
			}
		}
	}
}

// gatherTime is the wait for further deliveries: one write for many slows the work down less.
const gatherTime = 100 * time.Millisecond

// gather waits for more deliveries, unless a caller of Flush waits.
func (b *Outbox) gather(ctx context.Context) {
	t := time.NewTimer(gatherTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.now:
	case <-ctx.Done():
	}
}

// waiting returns the number of deliveries in the queue.
func (b *Outbox) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// giveUp ends a round that led to nothing.
func (b *Outbox) giveUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = b.rounds
	b.why = err
	if b.torn {
		b.rewrite()
	}
	b.notify()
}

// round sends the head of the queue, with all retries; without them if the service was down before.
func (b *Outbox) round(ctx context.Context, down bool) error {
	b.mu.Lock()
	b.rounds++
	parcels := slices.Clone(b.queue[:min(len(b.queue), window)])
	b.mu.Unlock()
	pauses := b.Pauses
	if down {
		pauses = nil
	}
	for try := 0; ; try++ {
		err := b.wire(ctx, http.MethodPost, parcels)
		b.disown(parcels)
		if err == nil {
			err = b.wire(ctx, http.MethodPatch, parcels)
		}
		for _, p := range parcels {
			if p.refusal != nil {
				b.refused(p)
				p.refusal = nil
			}
		}
		b.removeDone()
		if err == nil || ctx.Err() != nil {
			return err
		}
		err = errors.New(b.hide(err.Error()))
		if try >= len(pauses) {
			return err
		}
		if !llm.Sleep(ctx, pauses[try]) {
			return ctx.Err()
		}
	}
}

// anotherRun is the refusal of a record whose id another has. Its changes would change that one.
const anotherRun = "another run of this id is recorded already"

// disown refuses the changes of records that belong to another run.
func (b *Outbox) disown(all []*parcel) {
	for _, p := range all {
		if p.refusal != nil && p.refusal.answer == anotherRun {
			b.others[p.EventID] = true
		}
		if !p.done && b.others[p.EventID] {
			p.done, p.refusal = true, &refusal{0, anotherRun}
		}
	}
}

// refused keeps and reports a delivery that was refused.
func (b *Outbox) refused(p *parcel) {
	l := line{Method: p.Method, Path: p.Path(), Body: p.Body}
	err := b.setAside(&l, nil, p.refusal.status, p.refusal.answer)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead++
	switch {
	case p.refusal.answer != anotherRun:
		b.Report(fault.New(fault.Conflict, "telemetry %s %s was refused (%d): %.300s", p.Method, p.Path(), p.refusal.status, b.hide(p.refusal.answer)).
			WithHint("it is kept in %s", deadPath(b.path)))
	case !b.told: // once: it is true of all that follows
		b.told = true
		b.Report(fault.New(fault.Conflict, "%s: this one is not", anotherRun).
			WithHint("give it another id; what would have been recorded is kept in %s", deadPath(b.path)))
	}
	if err != nil {
		b.trouble(err)
	}
}

// local delivers into a store of this process.
type local struct{ store telemetry.Store }

func (l local) send(ctx context.Context, method string, all []*parcel) error {
	var news []telemetry.New
	var changes []telemetry.Change
	var whose []*parcel
	for _, p := range all {
		if p.done || p.Method != method {
			continue
		}
		n, patch, err := telemetry.New{}, telemetry.Patch{}, error(nil)
		if method == http.MethodPost {
			n, err = telemetry.ParseNew(p.Body)
		} else {
			patch, err = telemetry.ParsePatch(p.Body)
		}
		if err != nil {
			p.settle(err)
			continue
		}
		news, changes, whose = append(news, n), append(changes, telemetry.Change{EventID: p.EventID, Patch: patch}), append(whose, p)
	}
	if len(whose) == 0 {
		return nil
	}
	results, err := []telemetry.Result(nil), error(nil)
	if method == http.MethodPost {
		results, err = l.store.Create(ctx, news)
	} else {
		results, err = l.store.PatchAll(ctx, changes)
	}
	if err != nil {
		return err
	}
	for i, r := range results {
		if method == http.MethodPost && fault.Is(r.Err, fault.IDReused) && l.belongsToAnother(ctx, news[i].Record) {
			whose[i].done, whose[i].refusal = true, &refusal{0, anotherRun}
		} else {
			whose[i].settle(r.Err)
		}
	}
	return nil
}

// belongsToAnother reports whether the stored record of this id is another run's: runs of two projects may have one
// name, and so may a run that was removed and begun again. Their traces differ.
func (l local) belongsToAnother(ctx context.Context, r telemetry.Record) bool {
	kept, err := l.store.Get(ctx, r.EventID)
	return err == nil && r.TraceID() != "" && kept.TraceID() != r.TraceID()
}

// settle handles the answer of a store about one parcel: nil, or why it is refused.
func (p *parcel) settle(err error) {
	if p.done = true; err != nil {
		p.refusal = &refusal{0, err.Error()}
	}
}

// remote delivers over HTTP.
type remote struct {
	base    string
	token   string
	timeout time.Duration
	client  *http.Client
}

func newRemote(o *Options) *remote {
	return &remote{base: strings.TrimRight(o.URL, "/"), token: o.Token, timeout: o.Timeout,
		client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The token must not follow to wherever an answer points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (r *remote) send(ctx context.Context, method string, all []*parcel) error {
	defer r.client.CloseIdleConnections()
	for _, p := range all {
		if p.done || p.Method != method {
			continue
		}
		status, answer, err := r.ask(ctx, p.Method, p.Path(), p.Body)
		if err == nil {
			err = p.answered(status, answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answered handles the status of an answer: 2xx, a refusal, or an error to be tried again.
func (p *parcel) answered(status int, answer []byte) error {
	switch {
	case status >= 500:
		return fmt.Errorf("the telemetry service answered %d %s", status, http.StatusText(status))
	case status < 200 || status >= 300:
		p.refusal = &refusal{status, string(answer)}
	}
	p.done = true
	return nil
}

// grace limits a request on its way when the outbox is closed.
const grace = 500 * time.Millisecond

// maxAnswer limits the bytes that are read of an answer.
const maxAnswer = 64 << 10

// ask sends one request. An error means that there was no answer.
func (r *remote) ask(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	// A request that is on its way may be answered yet when the outbox is closed: what was
	// taken need not be sent again.
	stopping := ctx
	if stopping.Err() != nil {
		return 0, nil, stopping.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stopping), r.timeout)
	defer cancel()
	defer context.AfterFunc(stopping, func() { time.AfterFunc(grace, cancel) })()
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the telemetry service cannot be asked: its address is none")
	}
	req.Header.Set("Content-Type", "application/json")
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("the telemetry service does not answer: %w", bareError(err))
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil && res.StatusCode < 300 {
		return 0, nil, fmt.Errorf("the telemetry service broke off its answer: %w", bareError(err))
	}
	return res.StatusCode, answer, nil
}

// bareError returns an error without the address, in which there may be a password.
func bareError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
