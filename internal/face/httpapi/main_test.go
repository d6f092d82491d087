package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/store"
	"ramet/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type AgentNow = public.AgentNow

// site is a server over a real store.
type site struct {
	*Server
	base, host string
	token      string
	store      *store.Store
	clock      *clock
	client     *http.Client
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	stop       func() error // ends it and gives what Serve returned; more than once is fine
}

// siteOptions configure a server, and the one project that it has unless Projects says otherwise.
type siteOptions struct {
	Options
	Parts
}

// onlyProject is a home with one project.
type onlyProject struct{ *Project }

func (p onlyProject) HeldProject(key string) *Project {
	if key == "" || key == p.parts.Key {
		return p.Project
	}
	return nil
}

func (p onlyProject) OpenProject(_ context.Context, key string) (*Project, error) {
	return nil, fault.New(fault.NotFound, "no project has the key %s", key)
}

func (p onlyProject) ListProjects(context.Context) ([]public.KnownProject, error) {
	return []public.KnownProject{{Key: p.parts.Key, Open: true}}, nil
}

// clock is one that tests move.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time        { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) move(by time.Duration) { c.ahead.Add(int64(by)) }

// start makes a site. change may alter its options.
func start(t testing.TB, change ...func(*siteOptions)) *site {
	t.Helper()
	l := testkit.Must(Listen(t.Context(), "127.0.0.1:0", false))(t)
	return startOn(t, l, (&net.Dialer{}).DialContext, change...)
}

// startInMemory makes a site whose connections are pipes, so that it can run in a
// synctest bubble.
func startInMemory(t testing.TB, change ...func(*siteOptions)) *site {
	t.Helper()
	l := &pipeListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	return startOn(t, l, l.dial, change...)
}

// pipeListener is a listener in memory.
type pipeListener struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.accepted <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func startOn(t testing.TB, l net.Listener, dial func(ctx context.Context, network, address string) (net.Conn, error), change ...func(*siteOptions)) *site {
	t.Helper()
	home := t.TempDir()
	token, err := trust.OpenToken(home)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{token: strings.TrimPrefix(token.Bearer(), "Bearer "), clock: &clock{}, dial: dial}
	if s.store, err = store.OpenFile(t.Context(), filepath.Join(home, "telemetry.db")); err != nil {
		t.Fatal(err)
	}
	o := siteOptions{Options{Version: "1.2.3", Token: token, Now: s.clock.now}, Parts{Key: "one", Telemetry: s.store,
		Agents: Agents{Client: operation.Local{Open: noWorkspace}.OnRuns(&rundir.Store{Root: filepath.Join(home, "runs")}, nil)}}}
	for _, f := range change {
		f(&o)
	}
	if o.Projects == nil {
		o.Projects = onlyProject{NewProject(o.Parts)}
	}
	s.Server = New(o.Options)
	s.base, s.host = URL(l.Addr()), l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var result error
	go func() {
		result = s.Serve(ctx, l)
		close(ended)
	}()
	s.stop = func() error {
		cancel()
		<-ended
		return result
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DialContext: dial}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request as the holder of the token would; change may alter it.
func (s *site) ask(t testing.TB, method, path string, body any, change ...func(*http.Request)) reply {
	t.Helper()
	r := s.request(t, method, path, body)
	for _, f := range change {
		f(r)
	}
	return s.send(t, r)
}

func (s *site) request(t testing.TB, method, path string, body any) *http.Request {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	case []byte:
		content = bytes.NewReader(b)
	default:
		text := testkit.Must(json.Marshal(b))(t)
		content = bytes.NewReader(text)
	}
	r := testkit.Must(http.NewRequestWithContext(t.Context(), method, s.base+path, content))(t)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (s *site) send(t testing.TB, r *http.Request) reply {
	t.Helper()
	answer := testkit.Must(s.client.Do(r))(t)
	defer answer.Body.Close()
	text := testkit.Must(io.ReadAll(answer.Body))(t)
	return reply{answer.StatusCode, answer.Header, text}
}

// into reads the answer's JSON.
func (r reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// refused checks that the answer is this error, and gives it.
func (r reply) refused(t testing.TB, status int, code string) Error {
	t.Helper()
	var e Error
	if r.status != status {
		t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	r.into(t, &e)
	if string(e.Code) != code || e.Message == "" || e.Details == nil {
		t.Fatalf("want %s with a message and details: %s", code, r.body)
	}
	return e
}

// raw opens a connection to write on by hand.
func (s *site) raw(t testing.TB) net.Conn {
	t.Helper()
	c := testkit.Must(s.dial(t.Context(), "tcp", s.host))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// record is one that can be created.
func record(unit string, fields ...any) map[string]any {
	out := map[string]any{"event_id": telemetry.EventID("test", unit), "run_id": "run-" + unit, "agent_name": "writer",
		"job_type": "worker", "status": "running", "start_time": "2026-11-01T10:00:00Z"}
	for i := 0; i < len(fields); i += 2 {
		out[fields[i].(string)] = fields[i+1]
	}
	return out
}

// created creates a record and gives the path of it.
func (s *site) created(t testing.TB, unit string, fields ...any) string {
	t.Helper()
	if r := s.ask(t, http.MethodPost, "/api/v1/runs", record(unit, fields...)); r.status != http.StatusCreated {
		t.Fatalf("%d: %s", r.status, r.body)
	}
	return "/api/v1/runs/" + telemetry.EventID("test", unit)
}

func noWorkspace(context.Context) (*session.Workspace, error) { return nil, notHere("kernel") }

func bodyOf(text []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) }

type promptBody struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"`
}
