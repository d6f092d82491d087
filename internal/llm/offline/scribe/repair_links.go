package scribe

import (
	"path"
	"strconv"
	"strings"
)

var (
	quoted     = lazily(`"(?:[^"\\]|\\.)*"`)
	linkForm   = lazily(`(!?)\[((?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+"[^"]*")?\s*\)`)
	refForm    = lazily(`!?\[([^\[\]]+)\]\[([^\[\]]*)\]`)
	autoForm   = lazily(`<([a-zA-Z][a-zA-Z0-9+.-]*:[^<>\s]*)>`)
	quotedMost = 200 // of a target, in messages
)

// named are the things that a message quotes.
func (r *repair) named() []string {
	var out []string
	for _, q := range quoted().FindAllString(r.issue.Message, -1) {
		if s, err := strconv.Unquote(q); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// link mends links to a target: to a page of the plan with that name, to the page without
// the heading, or to nothing.
func (r *repair) link() string {
	named := r.named()
	if len(named) == 0 {
		return ""
	}
	target := named[0]
	is := func(to string) bool {
		return to == target || len(target) >= quotedMost && strings.HasPrefix(to, target)
	}
	to := ""
	switch r.issue.Code {
	case "LINK_MISSING":
		to = r.namesake(target)
	case "LINK_CASE":
		if len(named) > 1 {
			to = relative(r.page.Path, named[1])
		}
	case "LINK_ANCHOR":
		to, _, _ = strings.Cut(target, "#")
	}
	if to == target {
		to = ""
	}
	changed := false
	r.prose(func(s string) string {
		s = linkForm().ReplaceAllStringFunc(s, func(l string) string {
			m := linkForm().FindStringSubmatch(l)
			if !is(m[3]) {
				return l
			}
			changed = true
			if to == "" || m[1] == "!" {
				return m[2]
			}
			return "[" + m[2] + "](" + to + ")"
		})
		return autoForm().ReplaceAllStringFunc(s, func(l string) string {
			m := autoForm().FindStringSubmatch(l)
			if !is(m[1]) {
				return l
			}
			changed = true
			return "`" + strings.ReplaceAll(m[1], "`", "") + "`"
		})
	})
	switch {
	case !changed:
		return ""
	case to == "":
		return "remove the link to " + strconv.Quote(target)
	}
	return "point the link to " + strconv.Quote(target) + " at " + strconv.Quote(to)
}

// namesake is the way to the one page of the plan that is called like a target.
func (r *repair) namesake(target string) string {
	bare, _, _ := strings.Cut(target, "#")
	found := ""
	for _, p := range r.pages {
		if strings.EqualFold(path.Base(p), path.Base(bare)) && p != r.page.Path {
			if found != "" {
				return ""
			}
			found = relative(r.page.Path, p)
		}
	}
	return found
}

// undefined leaves the words of links whose definition is missing.
func (r *repair) undefined() string {
	changed := false
	r.prose(func(s string) string {
		return refForm().ReplaceAllStringFunc(s, func(l string) string {
			changed = true
			return refForm().FindStringSubmatch(l)[1]
		})
	})
	if !changed {
		return ""
	}
	return "remove links without a definition"
}

// emptyLinks leaves the words of links that have no address, and drops those without
// words.
func (r *repair) emptyLinks() string {
	changed := false
	r.prose(func(s string) string {
		return linkForm().ReplaceAllStringFunc(s, func(l string) string {
			m := linkForm().FindStringSubmatch(l)
			if m[3] != "" && m[3] != "#" && (strings.TrimSpace(m[2]) != "" || m[1] == "!") {
				return l
			}
			changed = true
			return m[2]
		})
	})
	if !changed {
		return ""
	}
	return "remove empty links"
}

// prose changes the lines that are no code.
func (r *repair) prose(change func(string) string) {
	for i, l := range outline(r.lines) {
		if !l.code {
			r.lines[i] = change(r.lines[i])
		}
	}
}
