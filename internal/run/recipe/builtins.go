package recipe

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// builtIn declares a built-in: which parameters it has, what it must be given and
// what it makes. A recipe that does not fit is refused when it is read, and not after all
// the work that comes before.
type builtIn struct {
	with    []parameter
	inputs  []role
	outputs []role
	once    bool // a recipe has it once: it writes a place that there is once
	effect  bool // it acts outside the run
}

// parameter is a key of `with`.
type parameter struct {
	name  string
	needs bool
}

// role is a file that a built-in reads or writes, by its whole path or by its name.
type role struct {
	pattern string // a path, or a name in which * stands for any beginning; dir/**: any folder
	may     bool   // it can be left out
	folder  bool   // all files below a folder do, too
}

// fits reports whether a path of a recipe matches the role.
func (r role) fits(at string) bool {
	folder, below := strings.CutSuffix(at, "/**")
	switch {
	case r.pattern == "dir/**":
		return below
	case below && strings.HasSuffix(r.pattern, "/**"):
		return path.Base(folder) == strings.TrimSuffix(r.pattern, "/**")
	case below:
		return r.folder
	case strings.Contains(r.pattern, "/"):
		return r.pattern == at
	}
	name := path.Base(at)
	if braces().FindString(name) == name {
		return true // a parameter, the user's matter
	}
	ok, _ := path.Match(r.pattern, name)
	return ok
}

const (
	pinnedFile = "artifacts/inputs.json" // what was cloned, at which commits
	baseBundle = "work/base.bundle"      // the files that worktrees begin with
	// sourceBundle are the files of repo, also where the changes go into another repository.
	sourceBundle = "work/source.bundle"
)

var (
	pinned  = role{pattern: pinnedFile}
	bundle  = role{pattern: baseBundle, may: true}
	patches = role{pattern: "*.patch", folder: true}
	patched = role{pattern: "*.patch"}
)

// workers are the built-ins that `uses` of a worker names.
var workers = sync.OnceValue(func() map[string]builtIn {
	return map[string]builtIn{
		"clone": {with: parseParameters("repo! commit into into_commit branch"), once: true,
			outputs: []role{pinned, {pattern: baseBundle}, {pattern: sourceBundle, may: true}}},
		"apply": {with: parseParameters("files to"), once: true,
			inputs:  []role{pinned, {pattern: baseBundle}, patches, {pattern: "*", may: true}},
			outputs: []role{patched}},
		"pull-request": {with: parseParameters("branch! base_branch title body repo into"), effect: true,
			inputs:  []role{pinned, bundle, patched, {pattern: "*.md", may: true}, {pattern: "title.txt", may: true}, {pattern: "*", may: true}},
			outputs: []role{{pattern: "*.json"}, {pattern: "dir/**"}}},
		"report": {inputs: []role{{pattern: "findings.json"}, {pattern: "*.diff"}},
			outputs: []role{{pattern: "*.sarif"}, {pattern: "*.md"}}},
		"comment": {with: parseParameters("repo! pull!"), effect: true,
			inputs: []role{{pattern: "*.md"}}, outputs: []role{{pattern: "*.json"}}},
	}
})

// builtInGates are those that `uses` of a gate names, with the built-in worker whose work
// they look at.
var builtInGates = sync.OnceValue(func() map[string]builtInGate {
	return map[string]builtInGate{
		"markdown": {"apply", parseParameters("patch")},
		"links":    {"apply", parseParameters("patch")},
		"secrets":  {"apply", parseParameters("patch")},
		"paths":    {"apply", parseParameters("patch allow")},
		"limits":   {"apply", parseParameters("patch files lines_per_file")},
	}
})

type builtInGate struct {
	after string
	with  []parameter
}

// parseParameters reads names, of which those with ! must be given.
func parseParameters(list string) []parameter {
	var out []parameter
	for _, word := range strings.Fields(list) {
		name, needs := strings.CutSuffix(word, "!")
		out = append(out, parameter{name, needs})
	}
	return out
}

func parameterNames(list []parameter) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.name)
	}
	return out
}

// checkBuiltIns holds the recipe against what its built-ins declare.
func (p *parser) checkBuiltIns() {
	for _, s := range p.workers {
		if b, ok := workers()[s.Uses]; ok {
			p.checkBuiltIn(s, b)
		}
	}
	p.checkBuiltInsTogether()
}

// checkBuiltIn holds a worker against what its built-in declares.
func (p *parser) checkBuiltIn(s *workerLines, b builtIn) {
	what := "worker " + s.Name
	p.checkKeys(b.with, s.With, s.lines["with"], s.Line, what, s.Uses)
	p.checkRoles(b.inputs, s.Inputs, s.inputs, s.Line, "input", what, s.Uses)
	var outputs []string
	for _, o := range s.Outputs {
		outputs = append(outputs, o.Path)
	}
	p.checkRoles(b.outputs, outputs, s.outputs, s.Line, "output", what, s.Uses)
	if !s.Each.Once {
		p.say(s.lines["each"], "%s has each, and %s is done once: leave it out", what, s.Uses)
	}
	switch {
	case b.effect && !s.External:
		p.say(s.Line, "%s acts outside the run: add `effect: external` and a key", what)
	case !b.effect && s.External:
		p.say(s.lines["effect"], "%s does not act outside the run: leave effect out", what)
	}
	if files := s.With["files"]; s.Uses == "apply" && files != "" && !slices.Contains(s.Inputs, files+"/**") {
		p.say(s.lines["with"], "%s takes the files below %.100q, which are none of its inputs: add %s/** to inputs", what, files, files)
	}
	if s.Uses == "pull-request" && s.With["title"] == "" && !slices.ContainsFunc(s.Inputs, role{pattern: "title.txt"}.fits) {
		p.say(s.Line, "%s has no title: give it one in with, or an input title.txt", what)
	}
}

// checkKeys holds the keys of a `with` against the parameters that there are.
func (p *parser) checkKeys(known []parameter, with map[string]string, line, at int, what, uses string) {
	for _, key := range slices.Sorted(maps.Keys(with)) {
		if !slices.Contains(parameterNames(known), key) {
			p.say(line, "%s gives %s a parameter %.60q, which it has not: %s", what, uses, key, suggestWord(key, parameterNames(known)))
		}
	}
	for _, k := range known {
		if k.needs && with[k.name] == "" {
			p.say(at, "%s gives %s no %s: add it to with", what, uses, k.name)
		}
	}
}

// checkRoles holds paths against what a built-in reads or writes.
func (p *parser) checkRoles(known []role, paths []string, lines []lined, at int, kind, what, uses string) {
	for _, r := range known {
		if !r.may && !slices.ContainsFunc(paths, r.fits) {
			p.say(at, "%s has no %s %s, which %s needs: add it", what, kind, r.pattern, uses)
		}
	}
	for i, one := range paths {
		if !slices.ContainsFunc(known, func(r role) bool { return r.fits(one) }) {
			var names []string
			for _, r := range known {
				names = append(names, r.pattern)
			}
			p.say(lines[i].line, "%s %.100q of %s is nothing that %s knows: it has %s", kind, one, what, uses, strings.Join(names, ", "))
		}
	}
}

// checkBuiltInsTogether looks at what built-ins need of each other.
func (p *parser) checkBuiltInsTogether() {
	of := map[string]*workerLines{}
	for _, s := range p.workers {
		if b := workers()[s.Uses]; b.once && of[s.Uses] != nil {
			p.say(s.Line, "workers %s and %s both use %s, which a recipe has once: keep one", of[s.Uses].Name, s.Name, s.Uses)
		}
		of[s.Uses] = s
	}
	p.passAddresses(of["clone"])
	made := slices.ContainsFunc(p.workers, func(s *workerLines) bool {
		return slices.ContainsFunc(s.Outputs, func(o Output) bool { return o.Path == pinnedFile })
	})
	for _, s := range p.workers {
		if s.Worktree != "" && !made {
			p.say(s.lines["worktree"], "worker %s has a worktree without a known commit: a worker with `uses: clone` makes %s", s.Name, pinnedFile)
		}
	}
	for _, g := range p.recipe.Gates {
		b, ok := builtInGates()[g.Uses]
		if !ok {
			continue
		}
		if of[b.after] == nil {
			p.say(g.Line, "gate %s looks at what %s wrote, and no worker uses it: add one, or give the gate a command", g.Name, b.after)
			continue
		}
		p.checkKeys(b.with, g.With, g.Line, g.Line, "gate "+g.Name, g.Uses)
		for _, key := range []string{"files", "lines_per_file"} {
			if text := g.With[key]; text != "" && !braces().MatchString(text) {
				if n, err := strconv.Atoi(text); err != nil || n < 0 {
					p.say(g.Line, "%s of gate %s is %.40q: make it a number, 0 for no limit", key, g.Name, text)
				}
			}
		}
	}
}

// passAddresses gives the built-ins that work with repositories the addresses that the worker clone has.
func (p *parser) passAddresses(clone *workerLines) {
	parameter := slices.ContainsFunc(p.recipe.Parameters, func(one Parameter) bool { return one.Name == "repo" })
	for i, w := range p.recipe.Workers {
		b, ok := workers()[w.Uses]
		if !ok || w.Uses == "clone" || !slices.Contains(parameterNames(b.with), "repo") {
			continue
		}
		if clone == nil && w.With["repo"] == "" && !parameter {
			p.say(w.Line, "worker %s does not know the repository: add a worker that uses clone, or repo to its with", w.Name)
			continue
		}
		if clone == nil {
			continue
		}
		if w.With == nil {
			w.With = map[string]string{}
		}
		for _, key := range []string{"repo", "into"} {
			if value := clone.With[key]; w.With[key] == "" && value != "" {
				w.With[key] = value
			}
		}
		p.recipe.Workers[i] = w
	}
}

// Changes is the patch that the one writer makes, with names in braces; empty: the recipe
// has no writer.
func (r *Recipe) Changes() string {
	for _, w := range r.Workers {
		for _, o := range w.Outputs {
			if w.Uses == "apply" && patched.fits(o.Path) {
				return o.Path
			}
		}
	}
	return ""
}
