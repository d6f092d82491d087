package recipe

import (
	"slices"
	"strings"
	"unicode"

	"ramet/internal/run"
)

// Order returns the workers of a state in levels: those of a level need nothing of each other,
// and nothing of later ones. A level is in the order of the file's state.
func (r *Recipe) Order(state run.State) [][]Worker {
	levels, circle := newGraph(r).order(state)
	if circle != nil {
		panic("recipe: a circle in " + string(state) + ", which Parse refuses")
	}
	out := make([][]Worker, len(levels))
	for i, names := range levels {
		for _, name := range names {
			w, _ := r.Worker(name)
			out[i] = append(out[i], w)
		}
	}
	return out
}

// order returns the workers of a state in levels, or workers that wait for each other, in the order in which each
// makes something for the next.
func (g *graph) order(state run.State) (levels [][]string, circle []string) {
	done := map[string]bool{}
	needed := func(name string) []string {
		return slices.DeleteFunc(g.before(state, name), func(other string) bool { return done[other] })
	}
	for rest := slices.Clone(g.recipe.States[state]); len(rest) > 0; {
		var level, waiting []string
		for _, name := range rest {
			if len(needed(name)) > 0 {
				waiting = append(waiting, name)
			} else {
				level = append(level, name)
			}
		}
		if len(level) == 0 { // from each to what it needs: a worker is met again
			at := rest[0]
			for !slices.Contains(circle, at) {
				circle = append(circle, at)
				at = needed(at)[0]
			}
			circle = circle[slices.Index(circle, at):]
			slices.Reverse(circle)      // from the maker to the user
			for _, name := range rest { // beginning with the first of the state
				if i := slices.Index(circle, name); i >= 0 {
					return nil, slices.Concat(circle[i:], circle[:i])
				}
			}
		}
		for _, name := range level {
			done[name] = true
		}
		levels, rest = append(levels, level), waiting
	}
	return levels, nil
}

// graph knows which worker makes which inputs of others.
type graph struct {
	recipe  *Recipe
	first   map[string]run.State
	scopes  map[string]scopeSet
	inputs  map[string][]pattern
	outputs map[string][]pattern
}

func newGraph(r *Recipe) *graph {
	g := &graph{r, map[string]run.State{}, map[string]scopeSet{}, map[string][]pattern{}, map[string][]pattern{}}
	for i := len(working) - 1; i >= 0; i-- {
		for _, name := range r.States[working[i]] {
			g.first[name] = working[i]
		}
	}
	var names []string
	for _, s := range r.Sections {
		names = append(names, s.Name)
	}
	once, sections := newScopeSet([]string{"all"}), newScopeSet(names)
	for _, w := range r.Workers {
		switch {
		case w.Each.Once:
			g.scopes[w.Name] = once
		case w.Each.Sections:
			g.scopes[w.Name] = sections
		case w.Each.List != nil:
			g.scopes[w.Name] = newScopeSet(w.Each.List)
		}
		for _, in := range w.Inputs {
			g.inputs[w.Name] = append(g.inputs[w.Name], newPattern(in, g.scopes[w.Name]))
		}
		if w.Each.From != "" {
			g.inputs[w.Name] = append(g.inputs[w.Name], newPattern(w.Each.From, nil))
		}
		for _, out := range w.Outputs {
			g.outputs[w.Name] = append(g.outputs[w.Name], newPattern(out.Path, g.scopes[w.Name]))
		}
	}
	return g
}

// Makers names the workers that make an input of a worker.
func (r *Recipe) Makers(w Worker, input string) []string {
	g := newGraph(r)
	in := newPattern(input, g.scopes[w.Name])
	var out []string
	for _, other := range r.Workers {
		if other.Name != w.Name && g.makes(other.Name, in) {
			out = append(out, other.Name)
		}
	}
	return out
}

// makes reports whether a worker makes something that a pattern means.
func (g *graph) makes(worker string, in pattern) bool {
	return slices.ContainsFunc(g.outputs[worker], in.meets)
}

// before lists the workers of a state that one of it has to wait for.
//
// A worker that is done again in FIXING made its outputs before, so that a worker that is new there could use the old
// ones (a fix) or need the new ones (a report): the order of the list decides.
func (g *graph) before(state run.State, worker string) []string {
	var list []string
	stand := g.recipe.States[state]
	for i, other := range stand {
		if other == worker {
			continue
		}
		again, mine := g.first[other] != state, g.first[worker] != state
		switch {
		case again && mine && stateIndex(g.first[other]) > stateIndex(g.first[worker]):
			continue
		case again && !mine && i > slices.Index(stand, worker):
			continue
		}
		if slices.ContainsFunc(g.inputs[worker], func(in pattern) bool { return g.makes(other, in) }) {
			list = append(list, other)
		}
	}
	return list
}

// stateIndex returns the place of a state in an undisturbed run.
func stateIndex(s run.State) int { return slices.Index(run.States(), s) }

// badPath returns what is wrong with a path in a recipe, or in what became of it, or
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
			return "is in .git: choose another place"
		}
	}
	if !slices.Contains(roots, segments[0]) {
		return "is outside the run: begin with one of " + where
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
	scopes scopeSet
}

// part is a name between slashes, split at its names in braces.
type part struct {
	text, head, tail string
	wild             bool // it has some
	scope            bool // it has one, {scope}
}

func newPattern(path string, scopes scopeSet) pattern {
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

// scopeSet holds the scopes of one worker; nil: they are not known before it is carried out.
type scopeSet map[string]bool

func newScopeSet(list []string) scopeSet {
	s := scopeSet{}
	for _, one := range list {
		s[one] = true
	}
	return s
}

func (s scopeSet) meets(other scopeSet) bool {
	if s == nil || other == nil {
		return true
	}
	if len(s) > len(other) {
		s, other = other, s
	}
	for one := range s {
		if other[one] {
			return true
		}
	}
	return false
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
	// Plain words first: comparing them is fast and separates most paths.
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

func (a part) meets(as scopeSet, b part, bs scopeSet) bool {
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
func (a part) fills(scopes scopeSet, word string) bool {
	if len(word) <= len(a.head)+len(a.tail) || !strings.HasPrefix(word, a.head) || !strings.HasSuffix(word, a.tail) {
		return false
	}
	return scopes == nil || !a.scope || scopes[word[len(a.head):len(word)-len(a.tail)]]
}
