package httpapi

import (
	"html"
	"net/http"
	"strings"
	"sync"
	"time"

	"ramet/internal/operation/public"
)

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

// ownRoutes are the routes of the server itself: health, login, metrics, this document, the page.
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

// loginCode is for `ramet web` in another process. A session cannot make itself longer.
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

// Document is the OpenAPI document of the table, as JSON.
func (s *Server) Document() []byte {
	text, err := encode(document(s.table, s.o.Version))
	if err != nil {
		panic(err) // strings and maps alone
	}
	return text
}
