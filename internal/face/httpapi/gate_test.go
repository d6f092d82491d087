package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

// drip writes a byte at a time until the other side has enough, and gives what it said.
func drip(t *testing.T, s *site, begin string, drop byte) string {
	t.Helper()
	c := s.raw(t)
	testkit.Must(io.WriteString(c, begin))(t)
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(c) // how it ends is not the question
		said <- string(text)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case text := <-said:
			return text
		case <-tick.C:
			_, _ = c.Write([]byte{drop}) // fails when the server has gone
		}
	}
}

// A client that sends a byte now and then is disconnected although it never stops sending.
func TestSlowClientsAreDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInMemory(t)
		began := time.Now()
		if got := drip(t, s, "GET /api/v1/runs HTTP/1.1\r\nHost: "+s.host+"\r\nX-Slow: ", 'x'); strings.Contains(got, "200 OK") {
			t.Errorf("slow header: %s", got)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("slow header: disconnected after %s", took)
		}
		got := drip(t, s, "POST /api/v1/runs HTTP/1.1\r\nHost: "+s.host+"\r\nAuthorization: Bearer "+s.token+
			"\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", ' ')
		if !strings.Contains(got, "408 Request Timeout") || !strings.Contains(got, "REQUEST_TIMEOUT") {
			t.Errorf("slow body: %s", got)
		}
		// Nor does the server wait long for the body of a request that it refuses.
		c := s.raw(t)
		began = time.Now()
		testkit.Must(io.WriteString(c, "POST /api/v1/runs HTTP/1.1\r\nHost: "+s.host+"\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"))(t)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if took := time.Since(began); err != nil || answer.StatusCode != http.StatusUnauthorized || took != 5*time.Second {
			t.Errorf("slow stranger: %v %v after %s", answer, err, took)
		}
		if n := s.rows(t); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

// gated is a store whose reading waits.
type gated struct {
	telemetry.Store
	entered chan struct{}
	let     chan struct{}
	result  error
	panics  any
}

func (g *gated) Metadata(ctx context.Context) (telemetry.Metadata, error) {
	if g.panics != nil {
		panic(g.panics)
	}
	if g.entered != nil {
		g.entered <- struct{}{}
		select {
		case <-g.let:
		case <-ctx.Done():
			return telemetry.Metadata{}, ctx.Err()
		}
	}
	return telemetry.Metadata{AgentNames: []string{}, JobTypes: []telemetry.JobType{}, Statuses: []telemetry.Status{}}, g.result
}

// A route may take longer than a client may take to send.
func TestARouteTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{entered: make(chan struct{}), let: make(chan struct{})}
		s := startInMemory(t, func(o *siteOptions) { o.Telemetry = g })
		answered := make(chan reply)
		go func() { answered <- s.ask(t, "GET", "/api/v1/metadata", nil) }()
		<-g.entered
		time.Sleep(2 * (s.o.HeaderTime + s.o.BodyTime))
		close(g.let)
		if got := <-answered; got.status != 200 {
			t.Errorf("%d: %s", got.status, got.body)
		}
	})
}

func TestWhatHasBegunEndsBeforeTheServer(t *testing.T) {
	g := &gated{entered: make(chan struct{}), let: make(chan struct{})}
	s := start(t, func(o *siteOptions) { o.Telemetry = g })
	answered := make(chan reply)
	go func() { answered <- s.ask(t, "GET", "/api/v1/metadata", nil) }()
	<-g.entered
	stopped := make(chan error)
	go func() { stopped <- s.stop() }()
	<-s.Server.stop.Done()
	close(g.let)
	if got := <-answered; got.status != 200 {
		t.Errorf("%d: %s", got.status, got.body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestAStreamEndsWithTheServer(t *testing.T) {
	s := start(t)
	began := make(chan struct{})
	route := Route{Method: "GET", Path: "/stream", Stream: true, Serve: func(c *Call) error {
		close(began)
		<-c.Context().Done()
		return c.Text(200, "text/plain", []byte("over"))
	}}
	s.router.add(&route) // nobody asks yet
	answered := make(chan reply)
	go func() { answered <- s.ask(t, "GET", "/stream", nil) }()
	<-began
	if text := string(s.ask(t, "GET", "/metrics", nil).body); !strings.Contains(text, "ramet_sse_clients 1\n") {
		t.Error(text)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if got := <-answered; string(got.body) != "over" {
		t.Errorf("%d: %s", got.status, got.body)
	}
}

// What goes wrong inside is told by its code, or not at all.
func TestErrorsBecomeStatuses(t *testing.T) {
	g := &gated{}
	var told []string
	s := start(t, func(o *siteOptions) {
		o.Telemetry = g
		o.Panicked = func(route string, stack []byte) { told = append(told, route+string(stack)) }
	})
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fault.New(fault.NotFound, "m"), 404, "NOT_FOUND"}, {fault.New(fault.StorageFull, "m"), 507, "STORAGE_FULL"},
		{fault.New(fault.StorageUnreachable, "m"), 503, "STORAGE_UNREACHABLE"}, {fault.New(fault.StorageIO, "m"), 500, "STORAGE_IO"},
		{fault.New(fault.Conflict, "m"), 409, "CONFLICT"}, {fault.New(fault.Leased, "m"), 409, "LEASED"}, {fault.New(fault.EventChainBroken, "m"), 409, "EVENT_CHAIN_BROKEN"},
		{fault.New(fault.Denied, "m"), 403, "DENIED"}, {fault.New(fault.ProviderAuth, "m"), 502, "PROVIDER_AUTH"}, {fault.New(fault.InvalidText, "m"), 422, "INVALID_TEXT"},
		{fault.New(fault.TimedOut, "m"), 504, "TIMEOUT"}, {fault.New(fault.Interrupted, "m"), 503, "INTERRUPTED"}, {fault.New(fault.Usage, "m"), 400, "USAGE"},
		{errors.New("secret in /home/me"), 500, "INTERNAL"},
	} {
		g.result = c.err
		got := s.ask(t, "GET", "/api/v1/metadata", nil)
		got.refused(t, c.status, c.code)
		if bytes.Contains(got.body, []byte("secret")) {
			t.Errorf("%s", got.body)
		}
	}
	g.panics = "secret"
	got := s.ask(t, "GET", "/api/v1/metadata", nil)
	got.refused(t, 500, "INTERNAL")
	shielded(t, got)
	if bytes.Contains(got.body, []byte("secret")) || len(told) != 1 || !strings.HasPrefix(told[0], "GET /api/v1/metadata") || strings.Contains(told[0], "secret") {
		t.Errorf("%s; told %q", got.body, told)
	}
	g.panics = nil
	g.result = nil
	if got := s.ask(t, "GET", "/api/v1/metadata", nil); got.status != 200 {
		t.Errorf("after a panic: %d", got.status)
	}
}

func TestEveryFaultHasAStatus(t *testing.T) {
	for _, row := range fault.Table() {
		if status := statusOf(row.Code); status < 400 || status > 599 || row.Exit == 2 && status >= 500 {
			t.Errorf("%s: %d", row.Code, status)
		}
	}
}

// Half an answer must not look whole.
func TestAPanicInTheMiddleCutsTheConnection(t *testing.T) {
	s := start(t)
	route := Route{Method: "GET", Path: "/half", Serve: func(c *Call) error {
		c.Writer.Header().Set("Content-Length", "1000")
		_, _ = c.Writer.Write([]byte("half"))
		panic("no")
	}}
	s.router.add(&route)
	answer, err := s.client.Do(s.request(t, "GET", "/half", nil))
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("it looks whole")
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	s := start(t)
	path := s.created(t, "a")
	for _, p := range []string{"/health", path, "/api/v1/runs"} {
		got, want := s.ask(t, "HEAD", p, nil), s.ask(t, "GET", p, nil)
		if got.status != 200 || len(got.body) != 0 || got.header.Get("Content-Length") != want.header.Get("Content-Length") {
			t.Errorf("%s: %d %v", p, got.status, got.header)
		}
	}
}

// One connection serves many requests, refused ones too, however long it was idle before.
func TestAConnectionIsUsedAgain(t *testing.T) {
	s := start(t)
	c := s.raw(t)
	lines := bufio.NewReader(c)
	for _, ask := range []struct{ token, want string }{{s.token, "200 OK"}, {"x", "401 Unauthorized"}, {s.token, "200 OK"}} {
		testkit.Must(io.WriteString(c, "GET /api/v1/metadata HTTP/1.1\r\nHost: "+s.host+"\r\nAuthorization: Bearer "+ask.token+"\r\n\r\n"))(t)
		answer := testkit.Must(http.ReadResponse(lines, nil))(t)
		if _, err := io.ReadAll(answer.Body); err != nil || !strings.HasSuffix(answer.Status, ask.want) {
			t.Errorf("%s %v", answer.Status, err)
		}
	}
}

func TestBrokenRequestsAreAnswered(t *testing.T) {
	s := start(t)
	for _, text := range []string{
		"GET /health HTTP/1.1\r\n\r\n",                                                     // no Host
		"GET /health HTTP/1.0\r\n\r\n",                                                     // no Host, and none needed
		"GET http://evil.example/health HTTP/1.1\r\nHost: " + s.host + "\r\n\r\n",          // another target
		"GET /health HTTP/1.1\r\nHost: " + s.host + "\r\nHost: evil.example\r\n\r\n",       // two
		"POST /api/v1/runs HTTP/1.1\r\nHost: " + s.host + "\r\nContent-Length: -1\r\n\r\n", // no length
		"POST /api/v1/runs HTTP/1.1\r\nHost: " + s.host + "\r\nContent-Length: 1\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
		"GET /" + strings.Repeat("a", maxHeader*2) + " HTTP/1.1\r\nHost: " + s.host + "\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", // TLS
	} {
		c := s.raw(t)
		testkit.Must(io.WriteString(c, text))(t)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%.60q: %v", text, err)
			continue
		}
		if answer.StatusCode < 400 {
			t.Errorf("%.60q: %s", text, answer.Status)
		}
		answer.Body.Close()
		c.Close()
	}
}

func TestTheServerServesOnce(t *testing.T) {
	s := start(t)
	s.ask(t, "GET", "/health", nil) // it serves
	l := testkit.Must(Listen(t.Context(), "127.0.0.1:0", false))(t)
	if err := s.Serve(t.Context(), l); err == nil {
		t.Error("it served twice")
	}
}

func TestRoutesThatContradictAreRefused(t *testing.T) {
	serve := func(*Call) error { return nil }
	for name, table := range map[string][]Route{
		"twice":     {{Method: "GET", Path: "/a", Serve: serve}, {Method: "GET", Path: "/a", Serve: serve}},
		"two names": {{Method: "GET", Path: "/{a}", Serve: serve}, {Method: "GET", Path: "/{b}", Serve: serve}},
		"no slash":  {{Method: "GET", Path: "a", Serve: serve}},
		"no serve":  {{Method: "GET", Path: "/a"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name)
				}
			}()
			newRouter(table)
		}()
	}
}

func FuzzParseQuery(f *testing.F) {
	allowed := []Param{{Name: "limit"}, {Name: "by", Enum: []string{"agent", "day"}}}
	for _, seed := range []string{"limit=1", "by=day", "by=x", "limit=1&limit=2", "a=%zz", ";", "%00=1", "limit", "=", "limit=1;by=day"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := parseQuery(raw, allowed)
		if err != nil {
			if e := answerOf(err); e.status != 400 {
				t.Errorf("%q: %d", raw, e.status)
			}
			return
		}
		for name, values := range query {
			if name != "limit" && name != "by" || len(values) != 1 || name == "by" && values[0] != "agent" && values[0] != "day" {
				t.Errorf("%q: %v", raw, query)
			}
		}
		c := &Call{query: query}
		if n, err := c.Number("limit", 1, 10, 5); err == nil && (n < 1 || n > 10) {
			t.Errorf("%q: %d", raw, n)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"commit_hash":"a"}`, `{"commit_hash":1}`, `{"x":{}}`, `[[[[`, `{"commit_hash":"a"}x`, "\xff", `{"a":"\ud800"}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if tooDeep(body) {
			return
		}
		var in CommitInput
		if err := (&Call{Body: body}).decode(&in); err != nil {
			if e := answerOf(err); e.status != 400 && e.status != 422 || len(e.Details) == 0 {
				t.Errorf("%q: %+v", body, e)
			}
		}
	})
}

func FuzzFind(f *testing.F) {
	router := newRouter(New(Options{}).table)
	for _, seed := range []string{"/", "/api/v1/runs/x", "/assets/a/b", "/assets/%2e%2e/x", "//", "/api/v1/runs/%00", "/api/v1/runs/%ff/tree", "", "*", "/assets/a%2fb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		_, params := router.find(u)
		for name, value := range params {
			for part := range strings.SplitSeq(value, "/") {
				if !plain(part) || name != "path" && part != value {
					t.Errorf("%q: %s is %q", path, name, value)
				}
			}
		}
	})
}
