package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
)

// failure is one way in which a server refuses.
type failure struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // a string is sent as it is, anything else as JSON
	Code    fault.Code        `json:"code"`
	Again   bool              `json:"again"`
	AfterMS int64             `json:"after_ms"`
}

// commonFailures returns the failures that do not depend on the vendor. It is no variable, because ramet with switches
// links this package, and would make all of them at each start.
func commonFailures() map[string]failure {
	return map[string]failure{
		"html":            {Status: 200, Headers: html, Body: page, Code: fault.ProviderProtocol},
		"html 404":        {Status: 404, Headers: html, Body: page, Code: fault.ProviderProtocol},
		"html 502":        {Status: 502, Headers: html, Body: page, Code: fault.ProviderOverloaded, Again: true},
		"html 403":        {Status: 403, Headers: html, Body: page, Code: fault.ProviderAuth},
		"json, no stream": {Status: 200, Headers: jsonType, Body: []byte(`{"ok": true}`), Code: fault.ProviderProtocol},
		"redirect":        {Status: 302, Headers: map[string]string{"Location": "https://example.com/?k=" + Key}, Body: []byte(`""`), Code: fault.ProviderProtocol},
		"empty 500":       {Status: 500, Body: []byte(`""`), Code: fault.ProviderOverloaded, Again: true},
		"empty 503":       {Status: 503, Headers: map[string]string{"Retry-After": "7"}, Body: []byte(`""`), Code: fault.ProviderOverloaded, Again: true, AfterMS: 7000},
		"date": {Status: 429, Headers: map[string]string{"Date": "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After": "Mon, 02 Jan 2006 15:04:35 GMT"},
			Body: []byte(`""`), Code: fault.ProviderRateLimit, Again: true, AfterMS: 30000},
		"bad retry-after": {Status: 429, Headers: map[string]string{"Retry-After": "soon"}, Body: []byte(`""`), Code: fault.ProviderRateLimit, Again: true},
		"echoed key":      {Status: 401, Headers: jsonType, Body: []byte(`{"error":{"message":"wrong key ` + Key + `"}}`), Code: fault.ProviderAuth},
		"a teapot":        {Status: 418, Body: []byte(`"short and stout"`), Code: fault.ProviderBadRequest},
		"huge":            {Status: 400, Body: []byte(`"` + strings.Repeat("x", 1<<20) + `"`), Code: fault.ProviderBadRequest},
	}
}

var (
	html     = map[string]string{"Content-Type": "text/html"}
	jsonType = map[string]string{"Content-Type": "application/json"}
	page     = json.RawMessage(`"<!doctype html><title>Welcome</title>"`)
)

func (s Suite) refused(t *testing.T) {
	all := map[string]failure{}
	testkit.OK(t, json.Unmarshal([]byte(read(t, "errors.json")), &all))
	for _, must := range []string{"401", "403", "404", "429", "429 without Retry-After", "500", "529", "context"} {
		if _, ok := all[must]; !ok {
			t.Errorf("errors.json has no %q", must)
		}
	}
	maps.Copy(all, commonFailures())
	for name, f := range all {
		t.Run(name, func(t *testing.T) {
			p := s.server(t, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range f.Headers {
					w.Header().Set(k, v)
				}
				w.WriteHeader(f.Status)
				var text string
				if json.Unmarshal(f.Body, &text) != nil {
					text = string(f.Body)
				}
				io.WriteString(w, text)
			})
			_, _, _, err := collect(t, p, s.request())
			why, _ := errors.AsType[*llm.Failure](err)
			if !fault.Is(err, f.Code) || fault.Exit(err) != 8 || why == nil {
				t.Fatalf("%s %v, want %s", fault.CodeOf(err), err, f.Code)
			}
			if why.Again != f.Again || why.After != time.Duration(f.AfterMS)*time.Millisecond {
				t.Errorf("again %v after %v, want %v %v", why.Again, why.After, f.Again, f.AfterMS)
			}
		})
	}
}

func (s Suite) broken(t *testing.T) {
	t.Run("refused connection", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testkit.OK(t, err)
		l.Close()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		o := options(s, transport)
		o.Base = "http://" + l.Addr().String()
		_, _, _, err = collect(t, s.New(o), s.request())
		if why, _ := errors.AsType[*llm.Failure](err); !fault.Is(err, fault.ProviderUnreachable) || why == nil || !why.Again {
			t.Errorf("%s %v", fault.CodeOf(err), err)
		}
	})
	t.Run("a base URL that is none", func(t *testing.T) {
		o := options(s, nil)
		o.Base = "http://[::1"
		if _, _, _, err := collect(t, s.New(o), s.request()); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s %v", fault.CodeOf(err), err)
		}
	})
	whole := read(t, "tools.sse")
	t.Run("reset", func(t *testing.T) {
		p := s.server(t, func(w http.ResponseWriter, r *http.Request) {
			play(whole[:len(whole)/2])(w, r)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		})
		m, _, _, err := collect(t, p, s.request())
		if !fault.Is(err, fault.StreamCut) || len(m.Calls()) > 0 {
			t.Errorf("%s %v, calls %v", fault.CodeOf(err), err, m.Calls())
		}
	})
	t.Run("no JSON in an event", func(t *testing.T) {
		p := s.server(t, play("data: <html>\n\n"))
		if _, _, _, err := collect(t, p, s.request()); !fault.Is(err, fault.ProviderProtocol) {
			t.Errorf("%s %v", fault.CodeOf(err), err)
		}
	})
	t.Run("no request", func(t *testing.T) {
		p := s.server(t, play(whole))
		for _, r := range []llm.Request{{}, {Model: "m"}, {Model: "m", Messages: []llm.Message{{Role: "dog"}}}} {
			if _, _, _, err := collect(t, p, r); !fault.Is(err, fault.ProviderBadRequest) {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}

func (s Suite) stalled(t *testing.T) {
	first := events(read(t, "text.sse"))[0]
	for name, c := range map[string]struct {
		begin  string
		limits wire.Options // the one that is meant is short; the other would be a matter of luck
		code   fault.Code
		after  string
	}{
		"before the answer": {"", wire.Options{First: 80 * time.Millisecond, Stall: time.Minute}, fault.ProviderUnreachable, "no byte for 80ms"},
		"in its middle":     {first, wire.Options{First: time.Minute, Stall: 50 * time.Millisecond}, fault.StreamCut, "no byte for 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.serverWith(t, func(w http.ResponseWriter, r *http.Request) {
				if c.begin != "" {
					play(c.begin)(w, r)
				} else {
					io.Copy(io.Discard, r.Body) // then the server sees the client go
				}
				<-r.Context().Done()
			}, c.limits)
			_, _, _, err := collect(t, p, s.request())
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.after) {
				t.Errorf("%s %v", fault.CodeOf(err), err)
			}
		})
	}
}

// hang plays the beginning of an answer and hangs until the client is gone.
func hang(text string) (http.HandlerFunc, <-chan struct{}) {
	gone := make(chan struct{})
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request) {
		play(text)(w, r)
		<-r.Context().Done()
		once.Do(func() { close(gone) })
	}, gone
}

// started is the beginning of a transcript, up to its first delta at least.
func (s Suite) started(t *testing.T) string {
	out := ""
	for _, e := range events(read(t, "text.sse")) {
		out += e
		if strings.Contains(e, "Hello") {
			break
		}
	}
	return out
}

func (s Suite) cancelled(t *testing.T) {
	h, gone := hang(s.started(t))
	p := s.server(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last llm.Event
	for e := range p.Stream(ctx, s.request()) {
		last = e
		if e.Type == llm.TextDelta {
			cancel()
		}
	}
	if last.Type != llm.Failed || !fault.Is(last.Err, fault.Cancelled) || !errors.Is(last.Err, context.Canceled) {
		t.Errorf("%s %v", last.Type, last.Err)
	}
	within(t, "the end of the connection", gone)
	if _, _, _, err := collectContext(t, ctx, p, s.request()); !fault.Is(err, fault.Cancelled) {
		t.Errorf("cancelled before: %v", err)
	}
	s.timedOut(t)
}

// timedOut gives a request more time until it has reached the server before that was over.
func (s Suite) timedOut(t *testing.T) {
	for most := 50 * time.Millisecond; ; most *= 2 {
		h, gone := hang(s.started(t))
		var begun atomic.Bool
		p := s.server(t, func(w http.ResponseWriter, r *http.Request) { begun.Store(true); h(w, r) })
		short, stop := context.WithTimeout(t.Context(), most)
		_, _, _, err := collectContext(t, short, p, s.request())
		stop()
		if !fault.Is(err, fault.TimedOut) {
			t.Fatalf("timed out: %v", err)
		}
		if begun.Load() {
			within(t, "the end of the connection", gone)
			return
		}
	}
}

func (s Suite) brokenOff(t *testing.T) {
	h, gone := hang(s.started(t))
	p := s.server(t, h)
	for e := range p.Stream(t.Context(), s.request()) {
		if e.Type == llm.TextDelta {
			break
		}
	}
	within(t, "the end of the connection", gone)
}

func (s Suite) concurrent(t *testing.T) {
	p := s.server(t, play(read(t, "tools.sse")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m, _, _, err := llm.Collect(p.Stream(t.Context(), s.request())); err != nil || len(m.Calls()) != 2 {
				t.Errorf("%+v %v", m, err)
			}
		})
	}
	wg.Wait()
}
