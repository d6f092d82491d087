// Package wire is what the vendors' protocols have in common: a POST that is
// answered by server-sent events, failures that come as JSON, and parts that
// come in pieces. Each vendor's package adds the shapes of its JSON.
//
// It promises, for any bytes a server may send:
//
//   - Exactly one terminal event, and no panic. Bytes that are not in the
//     protocol are PROVIDER_PROTOCOL; an answer without a stop reason is
//     STREAM_CUT.
//   - A server that sends nothing for First, or for Stall once it has begun, is
//     given up. When the context ends or the consumer breaks off, the connection
//     is shut at once.
//   - Keys travel in headers, go to the base URL's host only (redirects are not
//     followed), and are in no event, fault or hashed byte.
//   - Memory is bounded: one event by MaxEvent, an answer by MaxAnswer.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// The bounds.
const (
	First     = 5 * time.Minute  // until the first byte
	Stall     = 60 * time.Second // without a byte after it
	MaxEvent  = 16 << 20
	MaxAnswer = 256 << 20
	maxError  = 64 << 10 // of the body of a failure
)

// Options configure an adapter's client.
type Options struct {
	Vendor string                            // its name, for messages
	Base   string                            // base URL
	Key    string                            // kept out of messages; empty: none is sent
	Header string                            // that carries it alone; empty: the protocol's own
	First  time.Duration                     // until the first byte of an answer; 0: First
	Stall  time.Duration                     // between two of them; 0: Stall
	Sign   func(*http.Request, []byte) error // signs a request and its body instead of a key; nil: none is signed
	Secret func() string                     // what Sign put into a request last, kept out of messages; nil: nothing
	Once   bool                              // who does not begin in time is not to be asked again
	HTTP   http.RoundTripper                 // nil: one that all clients share
	Model  func(name string) llm.Model       // what is known about a model; never nil
}

// Auth returns the header of the key: the one that the vendor wants, else the
// protocol's own, with what stands before it there.
func (o Options) Auth(header, before string) http.Header {
	out := http.Header{}
	switch {
	case o.Key == "":
	case o.Header == "Authorization":
		out.Set("Authorization", "Bearer "+o.Key)
	case o.Header != "":
		out.Set(o.Header, o.Key)
	default:
		out.Set(header, before+o.Key)
	}
	return out
}

// Client makes a client that sends these headers.
func (o Options) Client(header http.Header) *Client {
	o.Base = strings.TrimRight(o.Base, "/")
	return &Client{Options: o, Headers: header}
}

// Client reaches one vendor.
type Client struct {
	Options             // Base has no slash at its end
	Headers http.Header // of every request; the key is here

	most int64 // bytes of an answer; 0: MaxAnswer
}

// Decoder makes events of one answer. It is used by one goroutine.
type Decoder interface {
	// Next takes one server-sent event. last says that nothing that counts
	// follows; an error ends the answer.
	Next(name string, data []byte) (events []llm.Event, last bool, err error)
	// Close ends the answer: what is still open is done. ok is false when no stop
	// reason came.
	Close() (events []llm.Event, finish llm.Finish, ok bool)
}

var errStalled = errors.New("stalled")

// shared keeps connections between calls. It does not have answers compressed: a proxy that
// compresses would hold them back.
var shared = sync.OnceValue(func() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
	}
})

// Stream posts a body and decodes the answer.
func (c *Client) Stream(ctx context.Context, sent llm.Bytes, d Decoder) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		yield = c.counted(yield)
		if ctx.Err() != nil {
			yield(llm.Fail(llm.Ended(ctx)))
			return
		}
		if !yield(llm.Event{Type: llm.Sent, Sent: sent}) {
			return
		}
		open, shut := context.WithCancelCause(ctx)
		defer shut(nil)
		first, stall := c.patience()
		timer := time.AfterFunc(first, func() { shut(errStalled) })
		defer timer.Stop()

		resp, err := c.post(open, sent)
		if err != nil {
			yield(llm.Fail(c.lost(ctx, open, err, first)))
			return
		}
		body := resp.Body
		defer body.Close()
		most := cmp.Or(c.most, MaxAnswer)
		in := &watched{r: io.LimitReader(body, most+1), timer: timer, stall: stall}
		next := scanEvents
		if mediaOf(resp) == framed {
			next = readFrames
		}
		ended, err := c.read(next(in, &err), &err, d, yield)
		if ended {
			return
		}
		if in.n == 0 {
			stall = first
		}
		if in.n > most {
			yield(llm.Fail(c.garbled("the answer has more than %d bytes", most)))
			return
		}
		// The stop reason came before the connection went: the answer is whole.
		events, finish, ok := d.Close()
		if ctx.Err() != nil {
			ok = false
		}
		if ok {
			events = append(events, llm.Event{Type: llm.Finished, Finish: finish})
		} else {
			events = []llm.Event{llm.Fail(c.lost(ctx, open, &broken{err}, stall))}
		}
		for _, e := range events {
			if !yield(e) {
				return
			}
		}
	}
}

// read passes on the events of an answer. ended says that the consumer left or
// a terminal event was yielded; else err is why there is no more, nil for the
// end of the body.
func (c *Client) read(in iter.Seq2[string, []byte], why *error, d Decoder, yield func(llm.Event) bool) (ended bool, err error) {
	for name, data := range in {
		events, last, wrong := d.Next(name, data)
		for _, e := range events {
			if !yield(e) {
				return true, nil
			}
		}
		if wrong != nil {
			yield(llm.Fail(c.fault(wrong)))
			return true, nil
		}
		if last {
			return false, nil
		}
	}
	_, said := errors.AsType[*Said](*why)
	switch {
	case errors.Is(*why, errTooLong):
		yield(llm.Fail(c.garbled("an event has more than %d bytes", MaxEvent)))
		return true, nil
	case said || fault.Is(*why, fault.ProviderProtocol):
		yield(llm.Fail(c.fault(*why)))
		return true, nil
	}
	return false, *why
}

// patience returns how long the server may be silent, before and within its answer.
func (c *Client) patience() (first, stall time.Duration) {
	first, stall = c.First, c.Stall
	first = cmp.Or(first, First)
	stall = cmp.Or(stall, Stall)
	return first, stall
}

// broken marks a failure that came after the answer began.
type broken struct{ err error }

func (b *broken) Error() string { return "read answer" }

// lost returns why there is no (more) answer.
func (c *Client) lost(ctx, open context.Context, err error, stall time.Duration) error {
	cut, reading := errors.AsType[*broken](err)
	stalled := errors.Is(context.Cause(open), errStalled)
	switch {
	case ctx.Err() != nil:
		return llm.Ended(ctx)
	case stalled && reading:
		return c.fault(llm.Cut(fmt.Errorf("no byte for %s", stall)))
	case stalled:
		err = fmt.Errorf("no byte for %s", stall)
	case reading:
		return c.fault(llm.Cut(withoutURL(cut.err)))
	}
	if _, ok := fault.Of(err); ok {
		return c.fault(err)
	}
	if stalled && c.Once {
		return c.unreachable(err, false).WithHint("give it more time: ramet config set first_byte 30m")
	}
	return c.unreachable(err, true)
}

// unreachable returns the fault of a vendor that did not answer.
func (c *Client) unreachable(err error, again bool) *fault.Error {
	why := &llm.Failure{Says: c.hide(withoutURL(err).Error()), Again: again, Err: err}
	return fault.New(fault.ProviderUnreachable, "ask %s at %s: %w", c.Vendor, c.place(), why).WithHint("check the network and the base URL")
}

func (c *Client) post(ctx context.Context, sent llm.Bytes) (*http.Response, error) {
	resp, err := c.roundTrip(ctx, http.MethodPost, sent.Path, "text/event-stream", sent.Body)
	if err != nil {
		return nil, err
	}
	if err := c.check(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// roundTrip sends one request, signed where the client signs requests.
func (c *Client) roundTrip(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the base URL of %s is not usable: %s", c.Vendor, c.hide(withoutURL(err).Error())).
			WithHint("correct it, or leave it out")
	}
	for name, values := range c.Headers {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "ramet")
	if c.Sign != nil {
		if err := c.Sign(req, body); err != nil {
			return nil, err
		}
	}
	// A client of our own would follow redirects, and take the key along.
	if c.HTTP == nil {
		return shared().RoundTrip(req)
	}
	return c.HTTP.RoundTrip(req)
}

// mediaOf returns the type of what comes, without its parameters.
func mediaOf(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// check refuses an answer that is no stream of events.
func (c *Client) check(resp *http.Response) error {
	media := mediaOf(resp)
	switch {
	case resp.StatusCode == http.StatusOK && (media == "text/event-stream" || media == framed || media == ""):
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return c.garbled("it redirects to %.120q", c.hide(resp.Header.Get("Location")))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && len(body) == 0 {
		return err
	}
	if said := parseError(body); said.found || resp.StatusCode >= 400 {
		said.status = resp.StatusCode
		said.after = retryAfter(resp.Header, said.after)
		said.page = !said.found
		return c.classify(said)
	}
	media = cmp.Or(media, "nothing it names")
	return c.garbled("it answers with status %d and %s", resp.StatusCode, media)
}

// place returns where the vendor is reached, without what may be secret in it.
func (c *Client) place() string {
	_, rest, ok := strings.Cut(c.Base, "://")
	if !ok {
		return c.hide(c.Base)
	}
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	return c.hide(host)
}

// garbled returns the fault of an answer that is not in the protocol.
func (c *Client) garbled(format string, args ...any) error {
	return c.fault(Garbled(format, args...))
}

// Garbled returns the fault of an event that is not in the protocol.
func Garbled(format string, args ...any) error {
	why := &llm.Failure{Says: fmt.Sprintf(format, args...)}
	return fault.New(fault.ProviderProtocol, "%w", why).WithHint("check the base URL: something else may answer there")
}

// fault adds whose fault it is to an error, and removes the key.
func (c *Client) fault(err error) error {
	if said, ok := errors.AsType[*Said](err); ok {
		err = c.classify(*said)
	}
	f, ok := fault.Of(err)
	if !ok {
		f = fault.New(fault.ProviderProtocol, "%w", err)
	}
	placed := *f
	if !strings.HasPrefix(f.Message, c.Vendor) {
		placed.Message = c.Vendor + " at " + c.place() + ": " + f.Message
	}
	placed.Message, placed.Hint = c.hide(placed.Message), c.hide(f.Hint)
	return &placed
}

// hide takes the key out of a message.
func (c *Client) hide(s string) string {
	if c.Secret != nil {
		if token := c.Secret(); token != "" {
			s = strings.ReplaceAll(s, token, "[redacted]")
		}
	}
	if c.Key == "" {
		return s
	}
	return strings.ReplaceAll(s, c.Key, "[redacted]")
}

// withoutURL drops the URL, which may hold a secret, from an error of net/http.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// watched resets the timer with every byte.
type watched struct {
	r     io.Reader
	n     int64
	timer *time.Timer
	stall time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.n += int64(n)
		w.timer.Reset(w.stall)
	}
	return n, err
}

// maxList limits the length of an answer of Get.
const maxList = 8 << 20

// Get reads something that is no stream, such as a list of models. Failures are
// faults as those of Stream; the context limits its time.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.fetch(ctx, http.MethodGet, path, nil)
}

// Post does what Get does, with a body of JSON.
func (c *Client) Post(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.fetch(ctx, http.MethodPost, path, body)
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := c.roundTrip(ctx, method, path, "application/json", body)
	if err != nil {
		if _, ours := fault.Of(err); !ours {
			err = c.unreachable(err, true)
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if err := c.check(resp); err != nil {
			return nil, err
		}
		return nil, c.garbled("it answers with status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, c.fault(llm.Cut(withoutURL(err)))
	}
	return text, nil
}
