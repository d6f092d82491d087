package recipe

import (
	"slices"
	"strings"
	"unicode"
)

// badPath says what is wrong with a path in a recipe, or in what became of it, or
// nothing.
func badPath(path string) string {
	where := strings.Join(roots, ", ")
	switch {
	case path == "":
		return "is empty: name a file"
	case len(path) > 300:
		return "is longer than 300 bytes: shorten it"
	case strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~"):
		return "is absolute: name a file below " + where + " of the run's folder"
	case strings.ContainsAny(path, `\:*?"<>|`) && !belowOnly(path), strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "holds a character that file names do not have everywhere: use letters, digits, . _ - and /, and ** only as the last part"
	}
	segments := strings.Split(path, "/")
	for _, s := range segments {
		switch {
		case s == "":
			return "has an empty part: write one / between names"
		case s == "." || s == "..":
			return "has the part " + s + ": write the path without it"
		case strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") || strings.HasPrefix(s, " "):
			return "has a part that begins or ends with a space or ends with a dot: take it off"
		case strings.EqualFold(s, ".git"):
			return "lies in .git: choose another place"
		}
	}
	if !slices.Contains(roots, segments[0]) {
		return "lies outside the run: begin with one of " + where
	}
	if len(segments) < 2 {
		return "is a folder: name a file in it"
	}
	return ""
}

// belowOnly reports whether a path holds no odd character but the stars of its end.
func belowOnly(path string) bool {
	rest, ok := strings.CutSuffix(path, "/**")
	return ok && !strings.ContainsAny(rest, `\:*?"<>|`)
}

// CoversPath reports whether a path is the one that a pattern, without names in braces, means:
// itself or, if it ends in /**, any file below.
func CoversPath(pattern, path string) bool {
	folder, below := strings.CutSuffix(pattern, "**")
	if !below {
		return pattern == path
	}
	return len(path) > len(folder) && strings.HasPrefix(path, folder)
}

// pattern is a path of a worker with what its {scope} can be.
type pattern struct {
	parts  []part
	below  bool
	scopes *scopeSet
}

// part is a name between slashes, split at its names in braces.
type part struct {
	text, head, tail string
	wild             bool // it has some
	scope            bool // it has one, {scope}
}

func newPattern(path string, scopes *scopeSet) pattern {
	folder, below := strings.CutSuffix(path, "/**")
	p := pattern{below: below, scopes: scopes}
	for _, text := range strings.Split(folder, "/") {
		one := part{text: text}
		if first, last := strings.Index(text, "{"), strings.LastIndex(text, "}"); first >= 0 && last > first {
			one.head, one.tail, one.wild = text[:first], text[last+1:], true
			one.scope = text[first:last+1] == "{scope}"
		}
		p.parts = append(p.parts, one)
	}
	return p
}

// scopeSet is the scopes of one worker; nil: they are not known before it is carried out.
type scopeSet struct {
	list []string
	has  map[string]bool
	met  map[*scopeSet]bool // whether it has something in common with others
}

func newScopeSet(list []string) *scopeSet {
	s := &scopeSet{list: list, has: make(map[string]bool, len(list)), met: map[*scopeSet]bool{}}
	for _, one := range list {
		s.has[one] = true
	}
	return s
}

func (s *scopeSet) meets(other *scopeSet) bool {
	if s == nil || other == nil || s == other {
		return true
	}
	if known, ok := s.met[other]; ok {
		return known
	}
	small, large := s, other
	if len(small.list) > len(large.list) {
		small, large = large, small
	}
	found := slices.ContainsFunc(small.list, func(one string) bool { return large.has[one] })
	s.met[other], other.met[s] = found, found
	return found
}

// meets reports whether two patterns can mean the same file. Where it cannot be known, they
// can.
func (p pattern) meets(q pattern) bool {
	if len(p.parts) > len(q.parts) {
		p, q = q, p
	}
	// p is the shorter one: it must reach further down, or be as long and both or none do.
	switch {
	case len(p.parts) < len(q.parts) && !p.below:
		return false
	case len(p.parts) == len(q.parts) && p.below != q.below:
		return false // a folder is no file
	}
	// Plain words first: they are compared fast, and tell most paths apart.
	for i, a := range p.parts {
		if b := q.parts[i]; !a.wild && !b.wild && a.text != b.text {
			return false
		}
	}
	for i, a := range p.parts {
		if !a.meets(p.scopes, q.parts[i], q.scopes) {
			return false
		}
	}
	return true
}

func (a part) meets(as *scopeSet, b part, bs *scopeSet) bool {
	switch {
	case !a.wild && !b.wild:
		return a.text == b.text
	case !a.wild:
		return b.fills(bs, a.text)
	case !b.wild:
		return a.fills(as, b.text)
	case a.scope && a.text == b.text:
		return as.meets(bs)
	}
	return (strings.HasPrefix(a.head, b.head) || strings.HasPrefix(b.head, a.head)) &&
		(strings.HasSuffix(a.tail, b.tail) || strings.HasSuffix(b.tail, a.tail))
}

// fills reports whether names in braces can become a plain word.
func (a part) fills(scopes *scopeSet, word string) bool {
	if len(word) <= len(a.head)+len(a.tail) || !strings.HasPrefix(word, a.head) || !strings.HasSuffix(word, a.tail) {
		return false
	}
	return scopes == nil || !a.scope || scopes.has[word[len(a.head):len(word)-len(a.tail)]]
}
