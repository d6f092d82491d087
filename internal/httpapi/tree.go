package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a part of paths. A literal part comes before a parameter.
type node struct {
	parts   map[string]*node
	param   *node
	name    string // what the parameter that led here is called
	rest    bool   // it takes all that follows
	methods methods
}

// methods are the routes of one path; nil is no path.
type methods map[string]*Route

// plant makes the tree of a table. A table that contradicts itself is a mistake of the
// programmer.
func plant(table []Route) *node {
	root := &node{}
	for i := range table {
		r := &table[i]
		at := root
		for part := range strings.SplitSeq(strings.TrimPrefix(r.Path, "/"), "/") {
			at = at.grow(part)
		}
		if at.methods == nil {
			at.methods = methods{}
		}
		if at.methods[r.Method] != nil || r.Serve == nil || !strings.HasPrefix(r.Path, "/") {
			panic("httpapi: bad route " + r.Method + " " + r.Path)
		}
		at.methods[r.Method] = r
	}
	return root
}

func (n *node) grow(part string) *node {
	if name, ok := strings.CutPrefix(part, "{"); ok {
		name, rest := strings.CutSuffix(strings.TrimSuffix(name, "}"), "...")
		if n.param == nil {
			n.param = &node{name: name, rest: rest}
		}
		if n.param.name != name || n.param.rest != rest {
			panic("httpapi: two names for one part: " + n.param.name + " and " + name)
		}
		return n.param
	}
	if n.parts == nil {
		n.parts = map[string]*node{}
	}
	if n.parts[part] == nil {
		n.parts[part] = &node{}
	}
	return n.parts[part]
}

// find gives the routes of a path. Paths are not cleaned: one with empty parts, dots, or
// a slash or control character inside a part is nobody's.
func (n *node) find(u *url.URL) (methods, map[string]string) {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return nil, nil
	}
	var params map[string]string
	parts := strings.Split(path, "/")
	for i, raw := range parts {
		part, err := url.PathUnescape(raw)
		if err != nil || !plain(part) && path != "" {
			return nil, nil
		}
		if next := n.parts[part]; next != nil {
			n = next
			continue
		}
		if n.param == nil || part == "" {
			return nil, nil
		}
		n = n.param
		if params == nil {
			params = map[string]string{}
		}
		params[n.name] = part
		if !n.rest {
			continue
		}
		rest := parts[i:]
		for j, raw := range rest {
			if rest[j], err = url.PathUnescape(raw); err != nil || !plain(rest[j]) {
				return nil, nil
			}
		}
		params[n.name] = strings.Join(rest, "/")
		break
	}
	return n.methods, params
}

// plain says whether a part can be handed on as a name.
func plain(part string) bool {
	return part != "" && part != "." && part != ".." && utf8.ValidString(part) &&
		!strings.ContainsFunc(part, func(r rune) bool { return r == '/' || r == '\\' || r < ' ' || r == 0x7f })
}

// public says whether something at this path is for anybody; then so is the list of its
// methods.
func (m methods) public() bool {
	for _, r := range m {
		if r.Access == Public {
			return true
		}
	}
	return false
}

// refuse says which methods there are.
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
