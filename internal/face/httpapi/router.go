package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

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
