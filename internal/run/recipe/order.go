package recipe

import (
	"slices"

	"ramet/internal/run"
)

// Order is the workers of a state in levels: those of a level need nothing of each other,
// and nothing of later ones. A level is in the order of the file's state.
func (r *Recipe) Order(state run.State) [][]Worker {
	g := newGraph(r)
	var levels [][]Worker
	done := map[string]bool{}
	rest := slices.Clone(r.States[state])
	for len(rest) > 0 {
		var level []Worker
		var waiting []string
		for _, name := range rest {
			if slices.ContainsFunc(g.before(state, name), func(other string) bool { return !done[other] }) {
				waiting = append(waiting, name)
				continue
			}
			w, _ := r.Worker(name)
			level = append(level, w)
		}
		if len(level) == 0 {
			panic("recipe: a circle in " + string(state) + ", which Parse refuses")
		}
		for _, w := range level {
			done[w.Name] = true
		}
		levels, rest = append(levels, level), waiting
	}
	return levels
}

// graph is who makes what for whom.
type graph struct {
	recipe  *Recipe
	first   map[string]run.State
	scopes  map[string]*scopeSet
	inputs  map[string][]pattern
	outputs map[string][]pattern
}

func newGraph(r *Recipe) *graph {
	g := &graph{r, map[string]run.State{}, map[string]*scopeSet{}, map[string][]pattern{}, map[string][]pattern{}}
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
// Who is done again in FIXING made its outputs before, so whoever is new there could do
// with the old ones (a fix) or want the new ones (a report): the list decides, which names
// first what goes first.
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

// circle finds workers of a state that wait for each other, in the order in which each
// makes something for the next; nil where there are none.
func (g *graph) circle(state run.State) []string {
	const (
		open   = 1
		closed = 2
	)
	seen := map[string]int{}
	var path, found []string
	var visit func(name string)
	visit = func(name string) {
		seen[name] = open
		path = append(path, name)
		for _, other := range g.before(state, name) {
			if seen[other] == open && found == nil {
				found = slices.Clone(path[slices.Index(path, other):])
				slices.Reverse(found) // from who makes to who needs
			}
			if seen[other] == 0 {
				visit(other)
			}
		}
		path, seen[name] = path[:len(path)-1], closed
	}
	for _, name := range g.recipe.States[state] {
		if seen[name] == 0 {
			visit(name)
		}
	}
	if found == nil {
		return nil
	}
	for _, name := range g.recipe.States[state] { // told from who stands first
		if i := slices.Index(found, name); i >= 0 {
			return slices.Concat(found[i:], found[:i])
		}
	}
	return found
}

// stateIndex is the place of a state in an undisturbed run.
func stateIndex(s run.State) int { return slices.Index(run.States(), s) }
