package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

var parameterForm = regexp.MustCompile(`\{[^}]*\}`)

// somewhere is a path that the route has.
func somewhere(r Route) string {
	return parameterForm.ReplaceAllString(r.Path, "00000000-0000-4000-8000-000000000000")
}

func body(r Route) any {
	if r.Limit > 0 {
		return "{}"
	}
	return nil
}

// Every attack is tried on every route of the table, so that a route cannot be
// forgotten.
func TestNoRouteIsOpenToAttacks(t *testing.T) {
	s := start(t)
	foreign := strings.Replace(s.host, "127.0.0.1", "evil.example", 1)
	session := s.login(t)
	as := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	attacks := []struct {
		name   string
		change []func(*http.Request)
		open   bool // public routes answer it
		status int
		code   string
	}{
		{"no token", []func(*http.Request){anonymous}, true, 401, "UNAUTHENTICATED"},
		{"wrong token", []func(*http.Request){as("Authorization", "Bearer "+strings.Repeat("x", 52))}, true, 401, "UNAUTHENTICATED"},
		{"empty token", []func(*http.Request){as("Authorization", "Bearer ")}, true, 401, "UNAUTHENTICATED"},
		{"token cut short", []func(*http.Request){as("Authorization", "Bearer "+s.token[:len(s.token)-1])}, true, 401, "UNAUTHENTICATED"},
		{"other scheme", []func(*http.Request){as("Authorization", "Basic "+s.token)}, true, 401, "UNAUTHENTICATED"},
		{"token twice", []func(*http.Request){func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }}, true, 401, "UNAUTHENTICATED"},
		{"wrong token with a session", []func(*http.Request){as("Authorization", "Bearer x"), cookie(session)}, true, 401, "UNAUTHENTICATED"},
		{"made-up session", []func(*http.Request){anonymous, cookie(strings.Repeat("x", 52))}, true, 401, "UNAUTHENTICATED"},
		{"token as a session", []func(*http.Request){anonymous, cookie(s.token)}, true, 401, "UNAUTHENTICATED"},
		{"foreign Host", []func(*http.Request){func(r *http.Request) { r.Host = foreign }}, false, 403, "FOREIGN_HOST"},
		{"Host of another port", []func(*http.Request){func(r *http.Request) { r.Host = "127.0.0.1:1" }}, false, 403, "FOREIGN_HOST"},
		{"Host without port", []func(*http.Request){func(r *http.Request) { r.Host = "localhost" }}, false, 403, "FOREIGN_HOST"},
		{"foreign Origin", []func(*http.Request){as("Origin", "http://evil.example")}, false, 403, "CROSS_ORIGIN"},
		{"Origin of another port", []func(*http.Request){as("Origin", "http://127.0.0.1:1")}, false, 403, "CROSS_ORIGIN"},
		{"Origin null", []func(*http.Request){as("Origin", "null")}, false, 403, "CROSS_ORIGIN"},
		{"Origin with TLS", []func(*http.Request){as("Origin", "https://"+s.host)}, false, 403, "CROSS_ORIGIN"},
		{"foreign Origin with a session", []func(*http.Request){anonymous, cookie(session), as("Origin", "http://evil.example")}, false, 403, "CROSS_ORIGIN"},
		{"cross-site", []func(*http.Request){as("Sec-Fetch-Site", "cross-site")}, false, 403, "CROSS_ORIGIN"},
		{"same site, other port", []func(*http.Request){anonymous, cookie(session), as("Sec-Fetch-Site", "same-site")}, false, 403, "CROSS_ORIGIN"},
		{"second Sec-Fetch-Site", []func(*http.Request){as("Sec-Fetch-Site", "none"), func(r *http.Request) { r.Header.Add("Sec-Fetch-Site", "cross-site") }}, false, 403, "CROSS_ORIGIN"},
	}
	for _, r := range s.table {
		for _, a := range attacks {
			if a.open && r.Access == Public {
				continue
			}
			t.Run(r.Method+" "+r.Path+": "+a.name, func(t *testing.T) {
				got := s.ask(t, r.Method, somewhere(r), body(r), a.change...)
				got.refused(t, a.status, a.code)
				shielded(t, got)
			})
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) { s.refusesForms(t, r) })
		if r.Method != http.MethodGet {
			t.Run(r.Method+" "+r.Path+": session without Origin", func(t *testing.T) {
				s.ask(t, r.Method, somewhere(r), body(r), anonymous, cookie(session)).refused(t, 403, "CROSS_ORIGIN")
			})
		}
	}
	if n := s.rows(t); n != 0 {
		t.Errorf("attacks made %d records", n)
	}
}

// refusesForms tries what is wrong with a request of somebody who may ask.
func (s *site) refusesForms(t *testing.T, r Route) {
	here, _ := s.router.find(s.request(t, r.Method, somewhere(r), nil).URL)
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
		if here[method] != nil {
			continue
		}
		got := s.ask(t, method, somewhere(r), nil)
		got.refused(t, 405, "METHOD_NOT_ALLOWED")
		if allow := got.header.Get("Allow"); !strings.Contains(allow, r.Method) || strings.Contains(allow, method) {
			t.Errorf("%s: Allow is %q", method, allow)
		}
		shielded(t, got)
	}
	s.ask(t, r.Method, somewhere(r)+"?no_such=1", body(r)).refused(t, 400, "INVALID_FIELD")
	if r.Limit == 0 {
		s.ask(t, r.Method, somewhere(r), "{}").refused(t, 413, "BODY_TOO_LARGE")
		return
	}
	large := bytes.Repeat([]byte(" "), int(r.Limit)+1)
	s.ask(t, r.Method, somewhere(r), large).refused(t, 413, "BODY_TOO_LARGE")
	s.ask(t, r.Method, somewhere(r), nil, func(q *http.Request) { // chunked: its length is not known before
		q.Body = bodyOf(large)
		q.ContentLength = -1
		q.Header.Set("Content-Type", "application/json")
	}).refused(t, 413, "BODY_TOO_LARGE")
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/json; charset=latin1", "application/jsonx", ";"} {
		s.ask(t, r.Method, somewhere(r), "{}", func(q *http.Request) {
			q.Header.Set("Content-Type", media)
		}).refused(t, 415, "UNSUPPORTED_MEDIA_TYPE")
	}
	s.ask(t, r.Method, somewhere(r), "{}", func(q *http.Request) { q.Header.Set("Content-Encoding", "gzip") }).
		refused(t, 415, "UNSUPPORTED_MEDIA_TYPE")
	s.ask(t, r.Method, somewhere(r), strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)).refused(t, 400, "INVALID_JSON")
	// What is missing of a path that names nothing is said first, or what is wrong with
	// the body; but never anything else.
	for _, text := range []string{"", "{", `{"a":1,"a":2}`, "{}x", "\xff", "nul", `"`} {
		if got := s.ask(t, r.Method, somewhere(r), text); got.status != 400 && got.status != 404 && got.status != 422 {
			t.Errorf("%q: %d %s", text, got.status, got.body)
		}
	}
}

// shielded checks the headers that every answer has.
func shielded(t *testing.T, r reply) {
	t.Helper()
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	csp := r.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) || strings.Contains(csp, "unsafe") {
			t.Errorf("Content-Security-Policy: %q", csp)
		}
	}
}

func TestOnlyHealthAndLoginArePublic(t *testing.T) {
	var public []string
	for _, r := range New(Options{}).table {
		if r.Access == Public {
			public = append(public, r.Method+" "+r.Path)
		}
		if changes := r.Method != http.MethodGet; changes && r.Access == Public {
			t.Errorf("%s %s changes something for anybody", r.Method, r.Path)
		}
	}
	if got := strings.Join(public, ", "); got != "GET /health, GET /login" {
		t.Errorf("public are %s", got)
	}
}

// Without a token nobody is let in, not even with an empty one.
func TestWithoutATokenNobodyHoldsIt(t *testing.T) {
	s := start(t, func(o *siteOptions) { o.Token = trust.Token{} })
	for _, said := range []string{"Bearer ", "Bearer", "bearer  ", ""} {
		s.ask(t, "GET", "/api/v1/runs", nil, func(r *http.Request) { r.Header.Set("Authorization", said) }).refused(t, 401, "UNAUTHENTICATED")
	}
}

func TestUnknownPathsSayNothingToStrangers(t *testing.T) {
	s := start(t)
	strange := func(r *http.Request) { r.Header.Del("Authorization") }
	s.ask(t, "GET", "/no/such", nil, strange).refused(t, 401, "UNAUTHENTICATED")
	s.ask(t, "GET", "/no/such", nil).refused(t, 404, "NOT_FOUND")
}

// login goes through the whole of it and gives the session.
func (s *site) login(t *testing.T) string {
	t.Helper()
	code, _ := s.LoginCode()
	got := s.ask(t, "GET", LoginPath(code), nil, func(r *http.Request) { r.Header.Del("Authorization") })
	if got.status != 303 || got.header.Get("Location") != "/" {
		t.Fatalf("%d %v: %s", got.status, got.header, got.body)
	}
	set := (&http.Response{Header: got.header}).Cookies()
	if len(set) != 1 || set[0].Name != "ramet_session" || !set[0].HttpOnly || set[0].SameSite != http.SameSiteStrictMode || set[0].Path != "/" || set[0].Expires.IsZero() {
		t.Fatalf("cookie %v", set)
	}
	return set[0].Value
}

func cookie(session string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "ramet_session", Value: session}) }
}

func TestALoginCodeOpensOnceAndNotForLong(t *testing.T) {
	s := start(t)
	strange := func(r *http.Request) { r.Header.Del("Authorization") }
	own := func(r *http.Request) { r.Header.Set("Origin", s.base) }
	session := s.login(t)
	if got := s.ask(t, "GET", "/api/v1/runs", nil, strange, cookie(session)); got.status != 200 {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	if got := s.ask(t, "POST", "/api/v1/runs", record("a"), strange, own, cookie(session)); got.status != 201 {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	// A session does not make itself longer.
	s.ask(t, "POST", "/api/v1/login-codes", nil, strange, own, cookie(session)).refused(t, 403, "DENIED")

	var code LoginCode
	s.ask(t, "POST", "/api/v1/login-codes", nil).into(t, &code)
	if got := s.ask(t, "HEAD", code.Path, nil, strange); got.status != 405 {
		t.Errorf("HEAD of a login link: %d", got.status)
	}
	if got := s.ask(t, "GET", code.Path, nil, strange, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); got.status != 403 {
		t.Errorf("login from another site: %d", got.status)
	}
	if got := s.ask(t, "GET", code.Path, nil, strange); got.status != 303 {
		t.Errorf("first use: %d", got.status)
	}
	s.ask(t, "GET", code.Path, nil, strange).refused(t, 401, "UNAUTHENTICATED")
	s.ask(t, "GET", "/login?code=", nil, strange).refused(t, 401, "UNAUTHENTICATED")
	s.ask(t, "GET", "/login", nil, strange).refused(t, 401, "UNAUTHENTICATED")

	s.ask(t, "POST", "/api/v1/login-codes", nil).into(t, &code)
	s.clock.move(2 * time.Minute)
	s.ask(t, "GET", code.Path, nil, strange).refused(t, 401, "UNAUTHENTICATED")
	s.clock.move(12 * time.Hour)
	s.ask(t, "GET", "/api/v1/runs", nil, strange, cookie(session)).refused(t, 401, "UNAUTHENTICATED")
}

func TestTheOldestPassesGo(t *testing.T) {
	a := newAccess(Options{Token: trust.Token{}, Now: time.Now})
	first, _ := a.pass(a.codes, codeTime, maxCodes)
	for range maxCodes {
		a.pass(a.codes, codeTime, maxCodes)
	}
	if len(a.codes) != maxCodes || a.use(a.codes, first) {
		t.Errorf("%d codes, and the first of them is good", len(a.codes))
	}
	for hash := range a.sessions {
		t.Errorf("a code made session %x", hash)
	}
}

// A browser without a session is told in words; a program gets JSON.
func TestABrowserIsToldHowToComeIn(t *testing.T) {
	s := start(t)
	browser := func(r *http.Request) {
		r.Header.Del("Authorization")
		r.Header.Set("Accept", "text/html,*/*")
	}
	for _, path := range []string{"/", "/login?code=%3Cscript%3E"} {
		got := s.ask(t, "GET", path, nil, browser)
		if got.status != 401 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") || !bytes.Contains(got.body, []byte("ramet web")) || bytes.Contains(got.body, []byte("script")) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	s.ask(t, "GET", "/api/v1/runs", nil, browser).refused(t, 401, "UNAUTHENTICATED")
}

func TestNamesThatTheUserGaveAreHosts(t *testing.T) {
	s := start(t, func(o *siteOptions) { o.Hosts = []string{"Box.example", "proxy.example:443", "fd00::1"} })
	_, port, _ := strings.Cut(s.host, ":")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:" + port, "", 200}, {"localhost:" + port, "http://localhost:" + port, 200}, {"LOCALHOST:" + port, "", 200}, {"[::1]:" + port, "", 200},
		{"box.example", "https://box.example", 200}, {"box.example:" + port, "http://box.example:" + port, 200}, {"proxy.example:443", "https://proxy.example:443", 200},
		{"[fd00::1]:" + port, "", 200}, {"[fd00::1]", "", 200},
		{"proxy.example", "", 403}, {"box.example:1", "", 403}, {"box.example.", "", 403}, {"x.box.example", "", 403}, {"localhost.evil.example:" + port, "", 403},
		{"localhost:" + port, "https://localhost:" + port, 403}, {"localhost:" + port, "http://127.0.0.1:" + port, 403},
		{"localhost:" + port, "http://localhost:" + port + "@evil.example", 403}, {"127.0.0.1:" + port + ",evil.example", "", 403},
		{"127.0.0.2:" + port, "", 403}, {"0.0.0.0:" + port, "", 403},
	} {
		got := s.ask(t, "GET", "/api/v1/runs", nil, func(r *http.Request) {
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if got.status != c.status {
			t.Errorf("Host %q, Origin %q: %d, want %d", c.host, c.origin, got.status, c.status)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for name, ok := range map[string]bool{"box": true, "box.example:80": true, "[::1]": true, "[::1]:80": true, "10.0.0.1": true,
		"": false, "*": false, "a b": false, "http://box": false, "a/b": false, "u@box": false, "box:x": false, "::1": false} {
		if err := CheckHost(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// rows counts the records.
func (s *site) rows(t *testing.T) int64 {
	t.Helper()
	m := testkit.Must(s.store.Metadata(t.Context()))(t)
	return m.Records
}

func TestAPassIsNeverKept(t *testing.T) {
	a := newAccess(Options{Token: trust.Token{}, Now: time.Now})
	code, _ := a.pass(a.codes, codeTime, maxCodes)
	session, _, _ := a.login(code)
	if memory := fmt.Sprintf("%s %s", a.codes, a.sessions); strings.Contains(memory, session) || strings.Contains(memory, code) {
		t.Error("the secret is in memory")
	}
}

// The kernel adds names as soon as it has made a server, which may be before it serves.
func TestHostsAreAddedBeforeItServes(t *testing.T) {
	s := New(Options{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765}})
	s.SetHosts([]string{"box.example"})
	if _, ok := (*s.hosts.Load())["box.example:8765"]; !ok {
		t.Errorf("%v", *s.hosts.Load())
	}
}
