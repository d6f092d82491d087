package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// someProjects are a home with two projects; the second opens when it is asked for.
type someProjects struct {
	held   map[string]*Project
	closed map[string]*Project
	opened []string
}

func (p *someProjects) HeldProject(key string) *Project { return p.held[key] }

func (p *someProjects) OpenProject(_ context.Context, key string) (*Project, error) {
	p.opened = append(p.opened, key)
	switch {
	case key == "":
		return nil, fault.New(fault.Conflict, "several projects are open")
	case p.closed[key] == nil:
		return nil, fault.New(fault.NotFound, "no project has the key %s", key)
	}
	return p.closed[key], nil
}

func (p *someProjects) ListProjects(context.Context) ([]public.KnownProject, error) {
	return []public.KnownProject{{Key: "a1", Name: "one", Open: true}, {Key: "b2", Name: "two"}}, nil
}

func withoutToken(r *http.Request) { r.Header.Del("Authorization") }

// signIn opens the page as a browser does, and returns its session.
func (s *site) signIn(t *testing.T, prefix string) (session, location string) {
	t.Helper()
	var code LoginCode
	s.ask(t, "POST", prefix+"/api/v1/login-codes", nil).into(t, &code)
	h := s.ask(t, "GET", prefix+code.Path, nil, withoutToken).header
	cookie := testkit.Must(http.ParseSetCookie(h.Get("Set-Cookie")))(t)
	return cookie.Value, h.Get("Location")
}

func TestAPathNamesItsProject(t *testing.T) {
	p := &someProjects{}
	s := start(t, func(o *siteOptions) {
		p.held = map[string]*Project{"a1": NewProject(Parts{Key: "a1", Telemetry: o.Telemetry, Reach: func(context.Context) error { return errors.New("away") }})}
		p.closed = map[string]*Project{"b2": NewProject(Parts{Key: "b2"})}
		o.Projects = p
	})
	if got := s.ask(t, "GET", "/p/a1/api/v1/runs", nil); got.status != 200 {
		t.Errorf("the open project: %d %s", got.status, got.body)
	}
	var health Health
	if s.ask(t, "GET", "/p/a1/health", nil).into(t, &health); health.Status != storeDegraded {
		t.Errorf("its store is away, and it is %s", health.Status)
	}
	s.ask(t, "GET", "/p/b2/api/v1/runs", nil).refused(t, 404, "NOT_FOUND") // it has no telemetry
	s.ask(t, "GET", "/p/c3/api/v1/runs", nil).refused(t, 404, "NOT_FOUND")
	s.ask(t, "GET", "/api/v1/runs", nil).refused(t, 409, "CONFLICT")
	if got := strings.Join(p.opened, " "); got != "b2 c3 " {
		t.Errorf("it opened %q", got)
	}
	p.opened = nil
	s.ask(t, "GET", "/p/b2/api/v1/runs", nil, withoutToken).refused(t, 401, "UNAUTHENTICATED")
	s.ask(t, "GET", "/p/b2/health", nil, withoutToken)
	s.ask(t, "POST", "/p/b2/mcp", "{}", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+s.o.Token.For(id.NewAgent()))
	}).refused(t, 404, "NOT_FOUND")
	if len(p.opened) > 0 {
		t.Errorf("strangers and agents opened %q", p.opened)
	}
	for _, path := range []string{"/p/", "/p/a1", "/p//api/v1/runs", "/p/%61%31/api/v1/runs", "/p/a1/p/b2/api/v1/runs", "/p/../a1/api/v1/runs", "/p/A1/api/v1/runs"} {
		s.ask(t, "GET", path, nil).refused(t, 404, "NOT_FOUND")
	}
	var list ProjectList
	s.ask(t, "GET", "/p/a1/api/v1/projects", nil).into(t, &list)
	if list.Current != "a1" || len(list.Projects) != 2 || list.Projects[1].Name != "two" {
		t.Errorf("the projects: %+v", list)
	}
	if _, to := s.signIn(t, "/p/a1"); to != "/p/a1/" {
		t.Errorf("the login leads to %q", to)
	}
}

// A session outlives the server until it ends or is ended, and what is stored leads to no session.
func TestSessionsOutliveTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.json")
	moved := &clock{}
	visit := func(o *siteOptions) { o.Sessions, o.Now = file, moved.now }
	s := start(t, visit)
	session, _ := s.signIn(t, "")
	if at, ok := LastAddress(file); !ok || at != s.host {
		t.Errorf("it was at %q %v, not %s", at, ok, s.host)
	}
	text, err := os.ReadFile(file)
	if info, serr := os.Stat(file); err != nil || serr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), session) {
		t.Errorf("the file is %v: %s", info, text)
	}
	testkit.OK(t, s.stop())

	again := start(t, visit)
	if got := again.ask(t, "GET", "/api/v1/runs", nil, withoutToken, cookie(session)); got.status != 200 {
		t.Errorf("after a restart: %d %s", got.status, got.body)
	}
	again.ask(t, "POST", "/api/v1/sign-out", nil, withoutToken, cookie(session)).refused(t, 403, "CROSS_ORIGIN")
	origin := func(r *http.Request) { r.Header.Set("Origin", again.base) }
	if got := again.ask(t, "POST", "/api/v1/sign-out", nil, withoutToken, cookie(session), origin); got.status != 204 || !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign-out: %d %v", got.status, got.header)
	}
	for _, s := range []*site{again, start(t, visit)} {
		s.ask(t, "GET", "/api/v1/runs", nil, withoutToken, cookie(session)).refused(t, 401, "UNAUTHENTICATED")
	}
	if _, ok := LastAddress(file); ok {
		t.Error("a session is left")
	}

	// A session that is over is not good, nor one in a file that others can change.
	session, _ = again.signIn(t, "")
	testkit.OK(t, os.Chmod(file, 0o620))
	if kept, err := readSessions(file); err == nil {
		t.Errorf("read %v", kept)
	}
	testkit.OK(t, os.Chmod(file, 0o600))
	moved.move(sessionTime)
	start(t, visit).ask(t, "GET", "/api/v1/runs", nil, withoutToken, cookie(session)).refused(t, 401, "UNAUTHENTICATED")
}
