package recipe

import (
	"maps"
	"slices"
	"strings"

	"ramet/internal/run"
)

// checkTogether looks at what holds between workers.
func (p *parser) checkTogether() {
	first := p.firstStates()
	var sections []string
	for _, s := range p.recipe.Sections {
		sections = append(sections, s.Name)
	}
	for _, s := range p.workers {
		_, used := first[s.Name]
		switch {
		case !used:
			p.say(s.Line, "worker %s is in no state: add it to one, or remove it", s.Name)
		case s.Each.Issue && first[s.Name] != run.Fixing:
			p.say(s.lines["each"], "worker %s is for an issue and is in %s: only FIXING has issues", s.Name, first[s.Name])
		case s.Uses == "pull-request" && first[s.Name] != run.ReadyForPR && first[s.Name] != run.PROpened:
			p.say(s.Line, "worker %s opens a pull request and is in %s: put it into PR_OPENED", s.Name, first[s.Name])
		case s.Each.Sections && len(sections) == 0:
			p.say(s.lines["each"], "worker %s is for sections, of which there are none: add sections", s.Name)
		}
	}
	broken := len(p.found) > 0
	p.checkBuiltIns()
	if broken {
		return
	}
	g := newGraph(p.recipe)
	p.checkSameOutputs(g)
	p.checkInputs(g)
	p.checkGateInputs(g)
	for _, state := range working {
		if _, circle := g.order(state); circle != nil {
			w, _ := p.recipe.Worker(circle[0])
			p.say(w.Line, "in %s workers wait for each other: %s: take one of these inputs away", state, strings.Join(append(circle, circle[0]), " → "))
		}
	}
}

// firstStates finds the first state of each worker.
func (p *parser) firstStates() map[string]run.State {
	var names []string
	for _, s := range p.workers {
		names = append(names, s.Name)
	}
	first := map[string]run.State{}
	for _, state := range working {
		for _, one := range p.stands[state] {
			before, again := first[one.text]
			switch {
			case !slices.Contains(names, one.text):
				p.say(one.line, "%s names a worker %.60q that is not defined: %s", state, one.text, suggestWord(one.text, names))
			case !again:
				first[one.text] = state
			case state != run.Fixing && before != run.Fixing:
				p.say(one.line, "worker %s is in %s and in %s: workers run again only in FIXING; keep one", one.text, before, state)
			case before == run.Fixing:
				p.say(one.line, "worker %s is in FIXING and then in %s: put it before FIXING, or keep one", one.text, state)
			}
		}
	}
	return first
}

// checkSameOutputs refuses two workers that make the same file.
func (p *parser) checkSameOutputs(g *graph) {
	for i, s := range p.workers {
		for a, out := range g.outputs[s.Name] {
			for b, other := range g.outputs[s.Name][:a] {
				if out.meets(other) {
					p.say(s.outputs[a].line, "outputs %.100q and %.100q of worker %s can be the same file: keep one", s.outputs[b].text, s.outputs[a].text, s.Name)
				}
			}
			for _, before := range p.workers[:i] {
				for b, other := range g.outputs[before.Name] {
					if out.meets(other) {
						p.say(s.outputs[a].line, "output %.100q of worker %s can be the same file as %.100q of worker %s, line %d: rename one",
							s.outputs[a].text, s.Name, before.outputs[b].text, before.Name, before.outputs[b].line)
					}
				}
			}
		}
	}
}

// checkInputs refuses inputs that no worker makes in time.
func (p *parser) checkInputs(g *graph) {
	for _, s := range p.workers {
		wanted := s.inputs
		if s.Each.From != "" {
			wanted = append(slices.Clone(wanted), lined{s.Each.From, s.lines["each"]})
		}
		for _, in := range wanted {
			if p.holdsParameter(in.text) {
				continue
			}
			made := map[string]string{} // why it does not count
			for _, maker := range p.workers {
				if !g.makes(maker.Name, newPattern(in.text, g.scopes[s.Name])) {
					continue
				}
				at, mine := g.first[maker.Name], g.first[s.Name]
				switch {
				case maker.Name == s.Name:
					made[maker.Name] = "only the worker itself makes it"
				case stateIndex(at) > stateIndex(mine):
					made[maker.Name] = "worker " + maker.Name + " makes it later, in " + string(at)
				case at == run.Fixing && mine != run.Fixing:
					made[maker.Name] = "worker " + maker.Name + " makes it only in FIXING, which may never be entered"
				default:
					made[maker.Name] = ""
				}
			}
			if whys := slices.Sorted(maps.Values(made)); len(whys) == 0 {
				p.say(in.line, "input %.100q of worker %s is made by no worker: add it to the outputs of a worker in an earlier state or in the same", in.text, s.Name)
			} else if whys[0] != "" {
				p.say(in.line, "input %.100q of worker %s is missing: %s: let an earlier worker make it", in.text, s.Name, whys[0])
			}
		}
	}
}

// checkGateInputs refuses inputs of gates that no worker makes before them.
func (p *parser) checkGateInputs(g *graph) {
	for _, one := range p.gateInputs {
		for _, in := range one.inputs {
			made := slices.ContainsFunc(p.workers, func(s *workerLines) bool {
				return stateIndex(g.first[s.Name]) < stateIndex(run.Validating) && g.makes(s.Name, newPattern(in.text, nil))
			})
			if !made && !p.holdsParameter(in.text) {
				p.say(in.line, "input %.100q of gate %s is made by no worker before %s: add it to the outputs of a worker", in.text, one.gate, run.Validating)
			}
		}
	}
}

// holdsParameter reports whether a path holds a parameter, so that it is the user's matter.
func (p *parser) holdsParameter(path string) bool {
	for _, found := range braces().FindAllStringSubmatch(path, -1) {
		if found[1] != "scope" {
			return true
		}
	}
	return false
}
