// Package otlp sends telemetry records as spans to an OpenTelemetry collector, over
// OTLP/HTTP, when the standard OTEL_* variables ask for it.
//
// # Promises
//
//   - A span is sent when its record has ended, once, with the trace_id and span_id of the
//     event log. A record without such ids gives none.
//   - Put never waits for the network. The queue is bounded: what does not fit, and what
//     the collector does not take after three more tries, is dropped and counted. The
//     event log and the telemetry service have it; a trace is a copy for the eye.
//   - Values of headers, which may be credentials, are in no error; nor is a password in an
//     address.
//
// Calls of models follow the semantic conventions for generative AI (gen_ai.*); what these
// have no name for is under ramet.*.
//
// The spans are encoded here: they have their own ids and times and are finished
// when they come here, which is just what the SDKs are made to decide themselves.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/telemetry"
)

const (
	maxQueue = 4096 // spans that wait
	maxBatch = 256  // spans of one request
	maxOpen  = 1 << 16
)

// Options configures the sending of spans.
type Options struct {
	Pauses []time.Duration // before each further try; nil: 1, 2 and 4 s
	Delay  time.Duration   // how long spans wait for others; 0: 1 s
	Report func(error)     // receives what was dropped, from one goroutine; nil: see Dropped
}

// Exporter sends spans in the background. All methods are safe for concurrent use; those of
// a nil one do nothing, but for Close.
type Exporter struct {
	Config
	Options
	client *http.Client
	stop   context.CancelFunc
	ended  chan struct{}
	wake   chan struct{} // has room for one
	now    chan struct{} // the same

	mu      sync.Mutex
	open    map[string]telemetry.Record // records that have not ended
	queue   []span
	put     int64
	done    int64 // sent or dropped
	dropped int64
	moved   chan struct{} // closed and made anew when done changes
	closed  bool
}

// New starts an exporter.
func New(c Config, o Options) *Exporter {
	x := &Exporter{Config: c, Options: o, ended: make(chan struct{}), wake: make(chan struct{}, 1), now: make(chan struct{}, 1),
		open: map[string]telemetry.Record{}, moved: make(chan struct{})}
	x.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if x.Pauses == nil {
		x.Pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	if x.Delay == 0 {
		x.Delay = time.Second
	}
	if x.Timeout == 0 {
		x.Timeout = 10 * time.Second
	}
	if x.Report == nil {
		x.Report = func(error) {}
	}
	var ctx context.Context
	ctx, x.stop = context.WithCancel(context.Background())
	go x.serve(ctx)
	return x
}

// Put sends the spans of the records that end with the deliveries.
func (x *Exporter) Put(all ...telemetry.Delivery) {
	if x != nil {
		x.take(all, true)
	}
}

// Learn reads deliveries of an earlier process, so that records that began there can end here. It sends nothing.
func (x *Exporter) Learn(all ...telemetry.Delivery) {
	if x != nil {
		x.take(all, false)
	}
}

func (x *Exporter) take(all []telemetry.Delivery, send bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	for _, d := range all {
		r, ok := x.apply(d)
		if !ok {
			continue
		}
		if r.Status == telemetry.Running {
			if len(x.open) < maxOpen {
				x.open[r.EventID] = r
			}
			continue
		}
		delete(x.open, r.EventID)
		if s, ok := spanOf(r); ok && send {
			x.add(s)
		}
	}
}

// apply returns the record after a delivery; not ok if it is unknown, or was sent.
func (x *Exporter) apply(d telemetry.Delivery) (telemetry.Record, bool) {
	if d.Method == http.MethodPost {
		n, err := telemetry.ParseNew(d.Body)
		return n.Record, err == nil
	}
	r, known := x.open[d.EventID]
	if !known {
		return r, false
	}
	p, err := telemetry.ParsePatch(d.Body)
	if err == nil {
		r, err = telemetry.Apply(r, p, r.UpdatedAt)
	}
	return r, err == nil
}

func (x *Exporter) add(s span) {
	x.put++
	if len(x.queue) >= maxQueue {
		x.dropped++
		x.finished(1)
		return
	}
	x.queue = append(x.queue, s)
	telemetry.Signal(x.wake)
	if len(x.queue) >= maxBatch {
		telemetry.Signal(x.now)
	}
}

// finished counts spans that were sent or dropped. The caller holds mu.
func (x *Exporter) finished(n int64) {
	x.done += n
	close(x.moved)
	x.moved = make(chan struct{})
}

// Dropped returns the number of spans that were dropped.
func (x *Exporter) Dropped() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dropped
}

// Flush returns when everything that was put before is sent or dropped, or when ctx ends.
func (x *Exporter) Flush(ctx context.Context) error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	target := x.put
	x.mu.Unlock()
	for {
		x.mu.Lock()
		left, moved, closed := target-x.done, x.moved, x.closed
		x.mu.Unlock()
		if left <= 0 || closed {
			return nil
		}
		telemetry.Signal(x.now)
		select {
		case <-moved:
		case <-ctx.Done():
			return fault.New(fault.Failed, "%d spans are not sent: %w", left, ctx.Err())
		}
	}
}

// Close stops sending; call Flush first. Spans that wait are dropped.
func (x *Exporter) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.stop()
	<-x.ended
	x.client.CloseIdleConnections()
}

func (x *Exporter) serve(ctx context.Context) {
	defer close(x.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
		if !x.gather(ctx) {
			return
		}
		for {
			batch := x.batch()
			if len(batch) == 0 {
				break
			}
			lost, err := x.deliver(ctx, batch)
			x.mu.Lock()
			x.dropped += lost
			x.finished(int64(len(batch)))
			x.mu.Unlock()
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				x.Report(err)
			}
		}
	}
}

// gather waits for more spans, or until they are to be sent at once.
func (x *Exporter) gather(ctx context.Context) bool {
	t := time.NewTimer(x.Delay)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-x.now:
	}
	return true
}

func (x *Exporter) batch() []span {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := min(len(x.queue), maxBatch)
	out := slices.Clone(x.queue[:n])
	x.queue = slices.Delete(x.queue, 0, n)
	return out
}

// deliver sends a batch, with all retries, and returns how many spans were lost.
func (x *Exporter) deliver(ctx context.Context, spans []span) (int64, error) {
	all := makeMessage(x.Resource, spans)
	body, kind := all.appendProto(nil), "application/x-protobuf"
	if x.JSON {
		kind = "application/json"
		body, _ = json.Marshal(all) // numbers come from JSON, so they are finite
	}
	if x.Gzip {
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		z.Write(body) // into memory
		z.Close()
		body = small.Bytes()
	}
	count := int64(len(spans))
	for try := 0; ; try++ {
		lost, wait, err := x.ask(ctx, body, kind)
		if err == nil {
			if lost = min(lost, count); lost > 0 {
				return lost, fault.New(fault.Failed, "the OpenTelemetry collector refused %d of %d spans", lost, count)
			}
			return 0, nil
		}
		if wait < 0 || try >= len(x.Pauses) || !llm.Sleep(ctx, max(x.Pauses[try], wait)) {
			return count, fault.New(fault.Failed, "%d spans are lost: %w", count, err)
		}
	}
}

// maxWait limits the delay that a collector can ask for.
const maxWait = 30 * time.Second

// ask sends one request. wait is the delay that the collector asks for before a retry; negative: do not retry.
func (x *Exporter) ask(ctx context.Context, body []byte, kind string) (lost int64, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.Endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, -1, errors.New("the OpenTelemetry collector cannot be asked")
	}
	for name, value := range x.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", kind)
	if x.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := x.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, in which there may be a password
		}
		return 0, 0, fmt.Errorf("the OpenTelemetry collector does not answer: %w", err)
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return x.refused(answer), 0, nil
	case code == 429 || code == 502 || code == 503 || code == 504:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		wait = min(time.Duration(max(0, min(seconds, 3600)))*time.Second, maxWait)
	default:
		wait = -1
	}
	return 0, wait, fmt.Errorf("the OpenTelemetry collector answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
}

// refused returns the number of spans that the collector rejected in a request that it accepted.
func (x *Exporter) refused(answer []byte) int64 {
	if !x.JSON {
		return rejected(answer)
	}
	var said struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, or one as text
		} `json:"partialSuccess"`
	}
	json.Unmarshal(answer, &said)
	n, _ := strconv.ParseInt(string(bytes.Trim(said.Partial.Rejected, `"`)), 10, 32)
	return max(0, n)
}
