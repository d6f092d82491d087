// Package httpapi is ramet over HTTP, on loopback: telemetry, runs, the ledger, agents
// and the page.
//
// It promises:
//
//   - One table of routes (Route) says what is answered. Every request passes one gate
//     before it reaches a route: Host, Origin, token or session, path, method, query,
//     media type, size, depth. A new route cannot be without it.
//   - Nothing but /health, and /login with a one-time code, is answered without the token
//     or a session.
//   - No page of another origin can read or change anything, whatever name it gives this
//     address.
//   - GET and HEAD change nothing, but that a login code is used up.
//   - What was acknowledged is durable: a 2xx is written after the store returned.
//   - A client that is slow, broken or gone holds one connection for a bounded time.
//   - Nothing of a request is logged. A panic becomes 500; its route and stack are logged.
//   - The OpenAPI document is made from the table and the types that are really read and
//     written.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/operation/public"
	"ramet/internal/telemetry"
)

// Options configure a server.
type Options struct {
	Version  string
	Token    trust.Token
	Addr     net.Addr // of the listener; nil: Serve takes it from there
	Hosts    []string // names by which users reach it, in addition to those of loopback: NAME or NAME:PORT
	Sessions string   // the file that keeps the sessions of browsers; empty: they end with the server
	Projects Projects
	Page     http.Handler // answers GET / and /assets/…

	Now func() time.Time
	// Panicked is told of a route that panicked, with its stack, which holds no
	// request data. May be nil.
	Panicked func(route string, stack []byte)
	// HeaderTime and BodyTime are how long a client may take to send; 5 and 30 s.
	HeaderTime, BodyTime time.Duration
}

// Projects finds the projects that requests name. Its methods are safe for concurrent use.
type Projects interface {
	// OpenProject returns the project with this key, which it opens if it is known and not open. NOT_FOUND:
	// there is none. An empty key names the project of requests that name none; CONFLICT: there are several.
	OpenProject(ctx context.Context, key string) (*Project, error)
	// HeldProject returns the same project if it is open, else nil.
	HeldProject(key string) *Project
	// ListProjects lists the projects that are open, and the others of the home.
	ListProjects(ctx context.Context) ([]public.KnownProject, error)
}

// Parts gives the routes of one project what they work on. The table of routes is the same whatever is
// missing: a part that is not there answers NOT_FOUND.
type Parts struct {
	Key       string // of the project
	Telemetry telemetry.Store
	Agents    Agents
	MCP       MCP // answers POST /mcp
	// Reach asks the store for a sign of life, for /health; nil: it is not asked.
	Reach func(context.Context) error
	// Attend is called when a request begins, and what it returns when it ends; may be nil.
	Attend func() func()
}

// Project answers the requests of one project.
type Project struct {
	parts Parts
	table []Route // as in the server's, in the same order
	pulse *pulse
}

// NewProject makes a project of its parts.
func NewProject(parts Parts) *Project {
	return &Project{parts: parts, table: parts.routes(), pulse: &pulse{ask: parts.Reach, heard: time.Now()}}
}

func (p Parts) routes() []Route {
	table := records{p.Telemetry}.routes()
	table = append(table, mcpRoute(p.MCP))
	table = append(table, agentRoutes(p.Agents)...)
	for i := range table {
		table[i].number = i + 1
	}
	return table
}

// Server answers. It is safe for concurrent use.
type Server struct {
	o       Options
	table   []Route // those of projects, then its own
	router  *router
	access  *access
	hosts   atomic.Pointer[hosts] // set by Serve, before the first request
	addr    net.Addr
	counts  counts
	stop    context.Context // ends when streams have to
	stopped context.CancelFunc
	serving sync.Once
}

// New makes a server. Nothing listens yet.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.HeaderTime = cmp.Or(o.HeaderTime, 5*time.Second)
	o.BodyTime = cmp.Or(o.BodyTime, 30*time.Second)
	s := &Server{o: o, access: newAccess(o), counts: counts{requests: map[counted]int64{}}}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.table = append(Parts{}.routes(), s.ownRoutes()...)
	s.router = newRouter(s.table)
	if s.addr = o.Addr; s.addr != nil {
		s.SetHosts(o.Hosts)
	}
	return s
}

const (
	idleTime  = 2 * time.Minute
	stopTime  = 10 * time.Second
	maxHeader = 32 << 10
)

// Serve answers what comes to l until ctx ends, then lets requests that have begun end,
// for a bounded time. It closes l, and can be called once. nil: it was ctx.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	first := false
	s.serving.Do(func() { first = true })
	if !first {
		return errors.Join(errors.New("httpapi: a server serves once"), l.Close())
	}
	if s.addr == nil {
		s.addr = l.Addr()
		s.SetHosts(s.o.Hosts)
	}
	s.access.rememberAddress(l.Addr().String())
	server := &http.Server{
		Handler:           http.HandlerFunc(s.gate),
		ReadHeaderTimeout: s.o.HeaderTime,
		ReadTimeout:       s.o.HeaderTime + s.o.BodyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would name requests
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		s.stopped()
		return fault.New(fault.Failed, "serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.stopped() // streams would keep Shutdown waiting
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(patience)
	if err != nil {
		err = server.Close() // what is still there does not end by itself
	}
	<-ended
	return err
}

// SetHosts replaces the names by which users reach the server, in addition to those of loopback.
func (s *Server) SetHosts(names []string) {
	all := newHosts(s.addr, names)
	s.hosts.Store(&all)
}

// URL returns the address of the page.
func URL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// OpenAPI returns the document of every server of a version.
func OpenAPI(version string) []byte { return New(Options{Version: version}).Document() }

// Health reports that the server is up and whether its store is, and nothing of their contents.
type Health struct {
	Status  string `json:"status"` // ok, degraded or unreachable: the store's
	Version string `json:"version"`
	// Proof shows that the server knows the token (see prove), to a client that is
	// about to send it.
	Proof string `json:"proof,omitempty"`
}

// LoginCode opens the page once.
type LoginCode struct {
	Code  string    `json:"code"`
	Path  string    `json:"path"` // to open, below the server's address
	Until time.Time `json:"expires_at"`
}

// ownRoutes returns the routes of the server itself: health, login, metrics, this document, the page.
func (s *Server) ownRoutes() []Route {
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "server", Summary: summary} }
	login := doc("login", "Turn a one-time code into a session, and go to the page")
	login.Query = []Param{{Name: "code"}}
	login.Answers = []Answer{{Status: http.StatusSeeOther, About: "The session is a cookie", Media: "text/html"}}
	metrics := doc("getMetrics", "Get figures for Prometheus")
	metrics.Answers = []Answer{{Status: http.StatusOK, About: "Prometheus text", Media: metricsMedia}}
	openapi := doc("getOpenAPI", "Get this document")
	openapi.Answers = []Answer{{Status: http.StatusOK, About: "OpenAPI 3.1", Body: map[string]any{}}}
	page := func(id string) Doc {
		d := doc(id, "Get the page")
		d.Answers = []Answer{{Status: http.StatusOK, About: "The page", Media: "*/*"}}
		return d
	}
	health := doc("getHealth", "Check whether the server is up and its store answers (status: ok, degraded or unreachable)")
	health.Query = []Param{{Name: "challenge", About: "up to 128 characters; the answer proves that the server knows the token"}}
	return []Route{
		Does(Route{Method: http.MethodGet, Path: "/health", Access: Public, Doc: health}, http.StatusOK, s.health),
		{Method: http.MethodGet, Path: "/login", Access: Public, Once: true, Doc: login, Serve: s.login},
		Does(Route{Method: http.MethodPost, Path: "/api/v1/login-codes",
			Doc: doc("createLoginCode", "Make a one-time code for the page; needs the token itself")}, http.StatusCreated, s.loginCode),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/sign-out", Doc: doc("signOut", "End the session of this browser")}, http.StatusNoContent, s.signOut),
		Does(Route{Method: http.MethodGet, Path: "/api/v1/projects", Doc: doc("listProjects", "List the projects of this user: a path that begins with /p/KEY means the project with that key")},
			http.StatusOK, s.listProjects),
		{Method: http.MethodGet, Path: "/metrics", Doc: metrics, Serve: s.metrics},
		{Method: http.MethodGet, Path: "/openapi.json", Doc: openapi, Serve: func(c *Call) error {
			return c.Text(http.StatusOK, "application/json", s.Document())
		}},
		{Method: http.MethodGet, Path: "/", Doc: page("getPage"), Serve: s.page},
		{Method: http.MethodGet, Path: "/assets/{path...}", Doc: page("getAsset"), Serve: s.page},
	}
}

func (s *Server) health(c *Call, _ None) (Health, error) {
	out := Health{Status: storeOK, Version: s.o.Version}
	if c.project != nil {
		if state := c.project.pulse.state(c.Request.Context()); state != "" {
			out.Status = state
		}
	}
	challenge := c.Query("challenge")
	if len(challenge) > 128 {
		return out, badQuery("challenge", "has more than 128 characters", "")
	}
	if challenge != "" {
		out.Proof = s.o.Token.Prove(c.Request.Host, challenge)
	}
	return out, nil
}

// login uses up a code. It is the one GET that changes something; that is why HEAD, by
// which programs look at links, is refused.
func (s *Server) login(c *Call) error {
	session, until, ok := s.access.login(c.Query("code"))
	if !ok {
		return Refuse(http.StatusUnauthorized, codeUnauthenticated,
			"the code is unknown, used up or older than two minutes: `ramet web` makes another")
	}
	http.SetCookie(c.Writer, &http.Cookie{Name: cookieName, Value: session, Path: "/", Expires: until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	c.Writer.Header().Set("Location", c.prefix+"/")
	return c.Text(http.StatusSeeOther, "text/html; charset=utf-8", []byte("<!doctype html><title>ramet</title><a href="+c.prefix+"/>ramet</a>\n"))
}

func (s *Server) signOut(c *Call, _ None) (None, error) {
	for _, cookie := range c.Request.CookiesNamed(cookieName) {
		if err := s.access.end(cookie.Value); err != nil {
			return None{}, err
		}
	}
	http.SetCookie(c.Writer, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return None{}, nil
}

// ProjectList lists the projects that the page can show.
type ProjectList struct {
	Current  string                `json:"current"` // the key of the project that was asked; empty: none
	Projects []public.KnownProject `json:"projects"`
}

func (s *Server) listProjects(c *Call, _ None) (ProjectList, error) {
	out := ProjectList{Current: c.key}
	if c.key == "" && c.project != nil {
		out.Current = c.project.parts.Key
	}
	var err error
	out.Projects, err = s.o.Projects.ListProjects(c.Context())
	return out, err
}

// loginCode makes a code for `ramet web` in another process. A session cannot make itself longer.
func (s *Server) loginCode(c *Call, _ None) (LoginCode, error) {
	if c.by != holder {
		return LoginCode{}, Refuse(http.StatusForbidden, "DENIED", "only the token makes login codes, not a session")
	}
	code, until := s.LoginCode()
	return LoginCode{code, LoginPath(code), until.UTC()}, nil
}

// LoginPath returns the path that a browser opens with a code.
func LoginPath(code string) string { return "/login?code=" + code }

func (s *Server) page(c *Call) error {
	if s.o.Page == nil {
		return notHere("page")
	}
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(writeTime))
	s.o.Page.ServeHTTP(c.Writer, c.Request)
	return nil
}

func wantsPage(r *http.Request) bool {
	_, _, path := cutProject(r.URL)
	return (path.Path == "/" || path.Path == "/login") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// knock is the page for a browser without a session.
var knock = sync.OnceValue(func() string {
	return "<!doctype html><html lang=en><meta charset=utf-8><title>ramet</title><h1>ramet</h1><p>" +
		html.EscapeString("This page opens with a one-time link. Run `ramet web` in a terminal.") + "</p></html>\n"
})

// LoginCode makes a code that opens the page once, within two minutes.
func (s *Server) LoginCode() (code string, until time.Time) {
	return s.access.pass(s.access.codes, codeTime, maxCodes)
}

// Document returns the OpenAPI document of the table, as JSON.
func (s *Server) Document() []byte {
	text, err := encode(document(s.table, s.o.Version))
	if err != nil {
		panic(err) // strings and maps alone
	}
	return text
}

// What a store is said to be.
const (
	storeOK          = "ok"
	storeDegraded    = "degraded"    // it is slow, or does not answer since a moment ago
	storeUnreachable = "unreachable" // it does not answer
)

const (
	pulseWait  = time.Second      // how long an answer is waited for
	pulseFresh = time.Second      // how long an answer is good for
	pulseLost  = 10 * time.Second // after how long without an answer a store is unreachable
)

// pulse knows whether a store answers. Callers share one question a second, and none of them waits for
// longer than a second.
type pulse struct {
	ask func(context.Context) error // nil: there is no store to ask

	mu     sync.Mutex    // guards what follows
	heard  time.Time     // when the store answered last
	asked  time.Time     // when it was asked last
	asking chan struct{} // closed when the answer is there; nil: nothing is asked
}

func (p *pulse) state(ctx context.Context) string {
	if p.ask == nil {
		return ""
	}
	select {
	case <-p.begin():
	case <-time.After(pulseWait):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.heard.Before(p.asked):
		return storeOK
	case time.Since(p.heard) < pulseLost:
		return storeDegraded
	}
	return storeUnreachable
}

// begin asks, unless it is known or being asked.
func (p *pulse) begin() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking != nil {
		return p.asking
	}
	over := make(chan struct{})
	if time.Since(p.asked) < pulseFresh {
		close(over)
		return over
	}
	p.asking, p.asked = over, time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pulseLost)
		defer cancel()
		err := p.ask(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.heard = time.Now()
		}
		p.asking = nil
		close(over)
	}()
	return over
}
