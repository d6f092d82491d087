package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// gate is the one way in.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w}
	// The deadline of the answer before must not be that of this one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	shield(w.Header())
	name := "none"
	defer func() {
		if p := recover(); p != nil {
			s.panicked(out, name, p)
		}
		s.counts.answered(name, out.status)
	}()
	route, c, err := s.admit(out, r)
	if route != nil {
		name = route.Method + " " + route.Path
	}
	if err == nil {
		err = s.serve(route, c)
	}
	if err != nil {
		// Before it sends the answer, net/http reads the rest of the body: a slow client must not
		// keep it waiting for longer than writeTime.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.o.HeaderTime))
		s.refuse(out, r, err)
	}
}

func shield(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// admit checks everything that is not the route's own business. The route is given, if
// the path has one, even when the request is refused.
func (s *Server) admit(w *answer, r *http.Request) (*Route, *Call, error) {
	if err := s.hosts.Load().check(r); err != nil {
		return nil, nil, err
	}
	prefix, key, path := cutProject(r.URL)
	here, params := s.router.find(path)
	route := here[r.Method]
	if route == nil && r.Method == http.MethodHead {
		if get := here[http.MethodGet]; get != nil && !get.Stream && !get.Once {
			route = get
		}
	}
	by, err := s.access.who(r)
	if by == process && (route == nil || route.Access != Processes) {
		err = Refuse(http.StatusUnauthorized, codeUnauthenticated, "the token of an agent opens /mcp, and nothing else")
	}
	switch open := route == nil && here.public() || route != nil && route.Access == Public; {
	case err != nil && !open:
		return route, nil, err
	case here == nil:
		return nil, nil, Refuse(http.StatusNotFound, "NOT_FOUND", "there is nothing at this path")
	case route == nil:
		return nil, nil, here.refuse()
	}
	if err := s.hosts.Load().checkChange(r, by); err != nil {
		return route, nil, err
	}
	cut := *r
	cut.URL = path
	c := &Call{Writer: w, Request: &cut, params: params, by: by, prefix: prefix, key: key}
	if by == process {
		c.agent, _ = s.access.agent(r)
	}
	if c.query, err = parseQuery(r.URL.RawQuery, route.Doc.Query); err != nil {
		return route, nil, err
	}
	c.Body, err = readBody(w, r, route)
	if err != nil {
		return route, nil, err
	}
	// From here on it is the route that takes its time; a deadline would end its context.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return s.choose(route, c)
}

// openTime limits how long a request waits for its project to be opened.
const openTime = 20 * time.Second

// choose finds the project of a request, and the route there. An agent's token opens no project.
func (s *Server) choose(route *Route, c *Call) (*Route, *Call, error) {
	held := s.o.Projects.HeldProject(c.key)
	if route.number == 0 {
		c.project = held
		return route, c, nil
	}
	if c.project = held; held == nil && c.by == process {
		return route, nil, fault.New(fault.NotFound, "no open project has the key %.40q", c.key)
	}
	if held == nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), openTime)
		defer cancel()
		var err error
		c.project, err = s.o.Projects.OpenProject(ctx, c.key)
		if err != nil && ctx.Err() != nil {
			err = fault.New(fault.StorageUnreachable, "the project was not open within %s", openTime).WithHint("ask again")
		}
		if err != nil {
			return route, nil, err
		}
	}
	return &c.project.table[route.number-1], c, nil
}

// cutProject cuts the part of a path that names a project, /p/KEY.
func cutProject(u *url.URL) (prefix, key string, rest *url.URL) {
	after, ok := strings.CutPrefix(u.EscapedPath(), "/p/")
	key, path, more := strings.Cut(after, "/")
	if !ok || !more || !isKey(key) {
		return "", "", u
	}
	cut := *u
	cut.Path, cut.RawPath = u.Path[len("/p/")+len(key):], "/"+path
	return "/p/" + key, key, &cut
}

// isKey reports whether a text can be the key of a project: letters and digits.
func isKey(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

func (s *Server) serve(route *Route, c *Call) error {
	if c.project != nil && c.project.parts.Attend != nil {
		defer c.project.parts.Attend()()
	}
	if route.Stream {
		ctx, cancel := context.WithCancel(c.Request.Context())
		defer cancel()
		defer context.AfterFunc(s.stop, cancel)()
		c.Request = c.Request.WithContext(ctx)
		s.counts.streams.Add(1)
		defer s.counts.streams.Add(-1)
	}
	return route.Serve(c)
}

// parseQuery reads the parameters of a route, and no others. A parameter twice could be
// read in two ways.
func parseQuery(raw string, allowed []Param) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, Refuse(http.StatusBadRequest, fault.InvalidField, "the query is not well-formed")
	}
	for name, values := range query {
		i := slices.IndexFunc(allowed, func(p Param) bool { return p.Name == name })
		switch {
		case i < 0:
			names := make([]string, len(allowed))
			for i, p := range allowed {
				names[i] = p.Name
			}
			return nil, badQuery(name, "is not a parameter of this route", text.NearestWord(name, names))
		case len(values) > 1:
			return nil, badQuery(name, "is given more than once", "")
		case allowed[i].Enum != nil && !slices.Contains(allowed[i].Enum, values[0]):
			return nil, badQuery(name, "must be one of "+strings.Join(allowed[i].Enum, ", "), text.NearestWord(values[0], allowed[i].Enum))
		}
	}
	return query, nil
}

// readBody reads all of a body that the route takes.
func readBody(w http.ResponseWriter, r *http.Request, route *Route) ([]byte, error) {
	if route.Limit == 0 {
		if r.ContentLength != 0 {
			return nil, Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "this route takes no body")
		}
		return nil, nil
	}
	tooLarge := Refuse(http.StatusRequestEntityTooLarge, codeTooLarge,
		"the body has more than "+strconv.FormatInt(route.Limit, 10)+" bytes")
	if r.ContentLength > route.Limit {
		return nil, tooLarge
	}
	if err := checkMedia(r.Header); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), smallBody)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, route.Limit))
	switch _, over := errors.AsType[*http.MaxBytesError](err); {
	case over:
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, Refuse(http.StatusRequestTimeout, codeSlow, "the body did not come in time")
	case errors.Is(err, io.ErrUnexpectedEOF) || err != nil:
		return nil, Refuse(http.StatusBadRequest, codeBadJSON, "the body is cut off")
	case tooDeep(body.Bytes()):
		return nil, deep()
	}
	return body.Bytes(), nil
}

func checkMedia(h http.Header) error {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return Refuse(http.StatusUnsupportedMediaType, codeMedia, "the body must be application/json, and the Content-Type say so")
	}
	if h.Get("Content-Encoding") != "" {
		return Refuse(http.StatusUnsupportedMediaType, codeMedia, "the body must not be compressed")
	}
	return nil
}

// refuse answers an error, unless an answer has begun.
func (s *Server) refuse(w *answer, r *http.Request, err error) {
	if w.status != 0 {
		return
	}
	e := answerOf(err)
	switch e.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", e.allow)
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="ramet"`)
		if wantsPage(r) {
			send(w, e.status, "text/html; charset=utf-8", []byte(knock()))
			return
		}
	}
	text, err := encode(e)
	if err != nil {
		panic(err) // strings alone
	}
	send(w, e.status, "application/json", text)
}

func (s *Server) panicked(w *answer, route string, p any) {
	s.counts.panics.Add(1)
	if s.o.Panicked != nil && p != http.ErrAbortHandler {
		s.o.Panicked(route, debug.Stack())
	}
	if w.status != 0 {
		s.counts.answered(route, w.status)
		panic(http.ErrAbortHandler) // half an answer must not look whole
	}
	text, _ := encode(Refuse(http.StatusInternalServerError, codeInternal, "something failed inside ramet"))
	send(w, http.StatusInternalServerError, "application/json", text)
}

// answer remembers what was answered.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// router finds the routes of a path by the patterns of net/http.
type router struct {
	mux   *http.ServeMux
	paths map[string]methods
}

// methods are the routes of one path; nil if there is no such path.
type methods map[string]*Route

// ServeHTTP makes methods a handler that the mux can return; the gate serves the route.
func (m methods) ServeHTTP(http.ResponseWriter, *http.Request) {}

// newRouter panics if the table contradicts itself.
func newRouter(table []Route) *router {
	r := &router{http.NewServeMux(), map[string]methods{}}
	for i := range table {
		r.add(&table[i])
	}
	return r
}

func (r *router) add(route *Route) {
	here := r.paths[route.Path]
	if here[route.Method] != nil || route.Serve == nil || !strings.HasPrefix(route.Path, "/") {
		panic("httpapi: bad route " + route.Method + " " + route.Path)
	}
	if here == nil {
		here = methods{}
		r.paths[route.Path] = here
		pattern := route.Path
		if strings.HasSuffix(pattern, "/") {
			pattern += "{$}"
		}
		r.mux.Handle(pattern, here)
	}
	here[route.Method] = route
}

// find returns the routes of a path and its parameters. Paths are not cleaned: there is nothing at one with empty
// parts, dots, or a slash or control character inside a part.
func (r *router) find(u *url.URL) (methods, map[string]string) {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return nil, nil
	}
	parts := strings.Split(path, "/")
	for i, raw := range parts {
		part, err := url.PathUnescape(raw)
		if err != nil || !plain(part) && path != "" {
			return nil, nil
		}
		parts[i] = part
	}
	handler, pattern := r.mux.Handler(&http.Request{Method: http.MethodGet, URL: u})
	here, ok := handler.(methods)
	if !ok {
		return nil, nil
	}
	params := map[string]string{}
	for i, part := range strings.Split(pattern, "/")[1:] {
		name, isParam := strings.CutPrefix(strings.TrimSuffix(part, "}"), "{")
		if rest, takesAll := strings.CutSuffix(name, "..."); takesAll {
			params[rest] = strings.Join(parts[i:], "/")
		} else if isParam && name != "$" {
			params[name] = parts[i]
		}
	}
	return here, params
}

// plain reports whether a path segment can be passed on as a name.
func plain(part string) bool {
	return part != "" && part != "." && part != ".." && utf8.ValidString(part) &&
		!strings.ContainsFunc(part, func(r rune) bool { return r == '/' || r == '\\' || r < ' ' || r == 0x7f })
}

// public reports whether a method of this path is public; then so is the list of its methods.
func (m methods) public() bool {
	for _, r := range m {
		if r.Access == Public {
			return true
		}
	}
	return false
}

func (m methods) refuse() *Error {
	var allow []string
	for method, r := range m {
		allow = append(allow, method)
		if method == http.MethodGet && !r.Stream && !r.Once {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	e := Refuse(http.StatusMethodNotAllowed, codeMethod, "this path answers only "+strings.Join(allow, ", "))
	e.allow = strings.Join(allow, ", ")
	return e
}
