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

// checkWorker looks at a worker without the others.
func (p *parser) checkWorker(s *workerLines) {
	what := "worker " + s.Name
	refuse := func(key, why string) {
		if line, there := s.lines[key]; there {
			p.say(line, "%s has %s, %s: leave it out", what, key, why)
		}
	}
	if s.Uses != "" || s.Command != "" {
		refuse("tools", "which only agents have")
		refuse("model", "which only agents have")
		refuse("agent", "which only agents have")
		refuse("driver", "which only agents have")
		refuse("effort", "which only agents have")
	}
	if s.Prompt != "" {
		refuse("with", "which a prompt does not see")
	}
	if s.Uses != "" {
		refuse("worktree", "which a built-in does not need")
		refuse("lookup", "which a built-in does by itself")
	}
	if _, there := s.lines["patches"]; there && s.Worktree == "" {
		p.say(s.lines["patches"], "%s has patches and no worktree that they could go into: add a worktree", what)
	}
	p.checkEffect(s, what)
	p.checkPaths(s, what)
	p.checkOutputs(s, what)
	for _, key := range slices.Sorted(maps.Keys(s.With)) {
		p.checkNames(s.lines["with"], key+" in with of "+what, s.With[key], given...)
	}
	if s.Prompt != "" {
		p.checkPrompt(s, what)
	}
}

func (p *parser) checkEffect(s *workerLines, what string) {
	switch {
	case s.External && s.Key == "":
		p.say(s.lines["effect"], "%s acts outside the run and has no key: add one that is the same whenever the effect is", what)
	case !s.External && s.lines["key"] != 0:
		p.say(s.lines["key"], "%s has a key and does not act outside the run: add `effect: external`, or leave it out", what)
	case !s.External && s.lines["lookup"] != 0:
		p.say(s.lines["lookup"], "%s has a lookup and does not act outside the run: add `effect: external`, or leave it out", what)
	case s.External && !s.Each.Once && !strings.Contains(s.Key, "{scope}"):
		p.say(s.lines["key"], "key of %s is the same for all its items: put {scope} into it", what)
	}
	if s.Key != "" {
		p.checkNames(s.lines["key"], "key of "+what, s.Key, "scope", "base")
	}
}

// checkPaths looks at the paths that a worker names.
func (p *parser) checkPaths(s *workerLines, what string) {
	for _, in := range s.inputs {
		p.checkPath(in, "input", what)
	}
	for i, out := range s.outputs {
		if !p.checkPath(out, "output", what) {
			continue
		}
		for _, tree := range trees {
			if out.text == tree || strings.HasPrefix(out.text, tree+"/") {
				p.say(out.line, "output %.100q of %s is in %s, where only the orchestrator writes: choose another place", out.text, what, tree)
			}
		}
		if o := s.Outputs[i]; strings.HasSuffix(out.text, "/**") && (o.Patch || o.Answer) {
			p.say(out.line, "output %.100q of %s is one file, as a patch or an answer is: write its path without /**", out.text, what)
		}
		if braces().FindString(out.text) == out.text {
			p.say(out.line, "output %.100q of %s can be anywhere: say in which folder", out.text, what)
		}
		if !s.Each.Once && !strings.Contains(out.text, "{scope}") {
			p.say(out.line, "output %.100q of %s is the same for all its items: put {scope} into it", s.Outputs[i].Path, what)
		}
	}
	if from := s.Each.From; from != "" {
		line := s.lines["each"]
		if p.checkPath(lined{from, line}, "from", what) && (strings.Contains(from, "{") || strings.HasSuffix(from, "/**")) {
			p.say(line, "from %.100q of %s must be one file: write it without braces and stars", from, what)
		}
	}
	if s.Worktree != "" && !slices.Contains(s.Inputs, s.Worktree) {
		p.say(s.lines["worktree"], "worktree %.100q of %s is none of its inputs: add it to inputs", s.Worktree, what)
	}
	for _, patch := range s.Patches {
		if !slices.Contains(s.Inputs, patch) {
			p.say(s.lines["patches"], "patch %.100q of %s is none of its inputs: add it to inputs", patch, what)
		}
	}
}

// checkPath reports whether a path can be used.
func (p *parser) checkPath(path lined, kind, what string) bool {
	of := kind + " of " + what
	if !p.checkNames(path.line, of, path.text, "scope") {
		return false
	}
	// A name in braces counts as a plain word; whatever it becomes is looked at again.
	plain := braces().ReplaceAllString(path.text, "x")
	if strings.ContainsAny(plain, "{}") {
		p.say(path.line, "%s %.100q has a brace that belongs to no name: write {name}, or take it out", of, path.text)
		return false
	}
	if braces().FindString(path.text) == path.text {
		plain = roots[0] + "/x" // a parameter that is a whole path
	}
	if why := badPath(plain); why != "" {
		p.say(path.line, "%s %.100q %s", of, path.text, why)
		return false
	}
	return true
}

// checkNames reports whether all names in braces are known: parameters, and some others.
func (p *parser) checkNames(line int, of, text string, others ...string) bool {
	known := slices.Clone(others)
	for _, one := range p.recipe.Parameters {
		known = append(known, one.Name)
	}
	good := true
	for _, found := range braces().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, found[1]) {
			p.say(line, "%s names {%.60s}, which is not a parameter: %s", of, found[1], suggestWord(found[1], known))
			good = false
		}
	}
	return good
}

// checkOutputs looks at what the outputs are made of.
func (p *parser) checkOutputs(s *workerLines, what string) {
	if len(s.Outputs) == 0 && !s.External && s.lines["outputs"] == 0 {
		p.say(s.Line, "%s makes nothing: add outputs", what)
	}
	patches, answers := 0, 0
	for i, o := range s.Outputs {
		line := s.outputs[i].line
		switch {
		case o.Patch && o.Answer:
			p.say(line, "output %.100q of %s is a patch and an answer: keep one of them", o.Path, what)
		case o.Patch && s.Worktree == "":
			p.say(line, "output %.100q of %s is a patch, but it has no worktree to change: add a worktree", o.Path, what)
		case o.Answer && s.Uses != "":
			p.say(line, "output %.100q of %s is an answer, which a built-in does not give: leave answer out", o.Path, what)
		}
		if o.Patch {
			patches++
		}
		if o.Answer {
			answers++
		}
	}
	if _, there := s.lines["expect"]; there && patches == 0 {
		p.say(s.lines["expect"], "%s says what to expect of a patch, and makes none: leave it out", what)
	}
	if patches > 1 || answers > 1 {
		p.say(s.lines["outputs"], "%s gives the same patch or answer to several outputs: keep one of each", what)
	}
	if s.lines["outputs"] != 0 && len(s.Outputs) == 0 && !s.External && len(p.found) == 0 {
		p.say(s.lines["outputs"], "outputs of %s is empty: name a file", what)
	}
}
