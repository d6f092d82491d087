package recipe

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
)

// workerLines is a worker with the lines of its keys.
type workerLines struct {
	*Worker
	inputs  []lined
	outputs []lined // paths
	prompt  int
	lines   map[string]int // of its keys
}

func (p *parser) worker(m member) {
	what := "worker " + m.key
	f := p.fields(m.value, what, "uses", "prompt", "command", "with", "each", "inputs", "outputs", "tools", "agent", "driver", "model", "effort",
		"worktree", "patches", "expect", "effect", "key", "lookup", "timeout", "attempts", "queue")
	if m.value.Kind != yaml.MappingNode {
		return
	}
	w := &Worker{Name: m.key, Line: m.line}
	s := &workerLines{Worker: w, lines: map[string]int{}}
	for key, m := range f {
		s.lines[key] = m.line
	}
	of := func(key string) string { return key + " of " + what }
	w.Uses = p.word(f["uses"], of("uses"), builtIns())
	w.Prompt = p.text(f["prompt"], of("prompt"))
	if w.Prompt != "" {
		s.prompt = f["prompt"].value.Line
		if f["prompt"].value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			s.prompt++ // the text begins below the | or >
		}
	}
	w.Command = p.text(f["command"], of("command"))
	p.oneOf(m, f, what, "uses", "prompt", "command")
	w.With = p.with(f["with"], what)
	w.Each = p.each(f["each"], of("each"))
	s.inputs = p.list(f["inputs"], of("inputs"), maxPaths)
	w.Inputs = textsOf(s.inputs)
	p.outputs(s, f["outputs"], what)
	for _, one := range p.list(f["tools"], of("tools"), maxPaths) {
		if t := toolinfo.Find(one.text); t == nil {
			p.say(one.line, "%s names no tool %.60q: %s", what, one.text, suggestWord(one.text, tools()))
		} else if t.NotInRecipes != "" {
			p.say(one.line, "%s cannot use %s, because %s: leave it out", what, t.Name, t.NotInRecipes)
		}
		w.Tools = append(w.Tools, one.text)
	}
	if _, there := f["tools"]; there && w.Tools == nil {
		w.Tools = []string{}
	}
	w.Agent = p.text(f["agent"], of("agent"))
	w.Effort = p.word(f["effort"], of("effort"), llm.Efforts())
	w.Driver = p.driver(f["driver"], of("driver"))
	if w.Model = p.text(f["model"], of("model")); w.Model != "" {
		if line := f["model"].value.Line; braces().FindString(w.Model) == w.Model {
			p.checkNames(line, of("model"), w.Model)
		} else if why := badModel(w.Driver, w.Model); why != "" {
			p.say(line, "%s is %.60q: %s", of("model"), w.Model, why)
		}
	}
	w.Worktree = p.text(f["worktree"], of("worktree"))
	w.Patches = textsOf(p.list(f["patches"], of("patches"), maxPaths))
	w.Any = p.word(f["expect"], of("expect"), []string{"changes", "any"}) == "any"
	w.External = p.word(f["effect"], of("effect"), []string{"local", "external"}) == "external"
	w.Key = p.text(f["key"], of("key"))
	w.Lookup = p.text(f["lookup"], of("lookup"))
	w.Timeout = p.duration(f["timeout"], of("timeout"))
	w.Attempts = int(p.integer(f["attempts"], of("attempts"), 1, 100))
	if w.Queue = p.text(f["queue"], of("queue")); w.Queue != "" && !nameRule().MatchString(w.Queue) {
		p.say(f["queue"].value.Line, "%s is %.60q: begin with a small letter, then at most 39 small letters, digits and -", of("queue"), w.Queue)
	}
	p.recipe.applyAgent(w)
	p.checkWorker(s)
	p.workers = append(p.workers, s)
	p.recipe.Workers = append(p.recipe.Workers, *w)
}

// oneOf demands one of some keys.
func (n *mistakeList) oneOf(m member, f map[string]member, what string, keys ...string) {
	if m.value.Kind != yaml.MappingNode {
		return
	}
	var have []string
	for _, key := range keys {
		if _, there := f[key]; there {
			have = append(have, key)
		}
	}
	switch len(have) {
	case 0:
		n.say(m.line, "%s does nothing: give it one of %s", what, strings.Join(keys, ", "))
	case 1:
	default:
		n.say(m.line, "%s has %s: keep one of them", what, strings.Join(have, " and "))
	}
}

// with reads the values that go to a built-in or, as variables, to a command.
func (n *mistakeList) with(m member, what string) map[string]string {
	if m.value == nil {
		return nil
	}
	values := map[string]string{}
	for _, m := range n.members(m.value, "with of "+what) {
		if !withRule().MatchString(m.key) {
			n.say(m.line, "%.60q in with of %s is not a name of a variable: use letters, digits and _", m.key, what)
			continue
		}
		values[m.key] = n.scalar(m, m.key+" in with of "+what)
	}
	return values
}

// outputs reads paths or mappings.
func (p *parser) outputs(s *workerLines, m member, what string) {
	if m.value == nil {
		return
	}
	if m.value.Kind != yaml.SequenceNode {
		p.say(m.value.Line, "outputs of %s is %s: make it a list, [a, b]", what, kindOf(m.value))
		return
	}
	if len(m.value.Content) > maxPaths {
		p.say(m.value.Line, "outputs of %s has %d entries: at most %d are allowed", what, len(m.value.Content), maxPaths)
		return
	}
	of := "an output of " + what
	for _, node := range m.value.Content {
		o := Output{}
		if node.Kind == yaml.MappingNode {
			f := p.fields(node, of, "path", "schema", "patch", "answer")
			o = Output{Path: p.text(f["path"], "path of "+of), Schema: p.text(f["schema"], "schema of "+of),
				Patch: p.truth(f["patch"], "patch of "+of), Answer: p.truth(f["answer"], "answer of "+of)}
			if _, there := f["path"]; !there {
				p.say(node.Line, "%s has no path: add it", of)
			}
			p.form(f["schema"], o.Schema, of)
		} else {
			o.Path = p.text(member{value: node}, of)
		}
		if o.Path != "" {
			s.Outputs = append(s.Outputs, o)
			s.outputs = append(s.outputs, lined{o.Path, node.Line})
		}
	}
}

// form refuses the name of an unknown form.
func (p *parser) form(m member, name, of string) {
	if _, known := p.recipe.Schema(name); name == "" || known {
		return
	}
	all := append(slices.Collect(maps.Keys(p.recipe.Schemas)), FormNames()...)
	slices.Sort(all)
	p.say(m.value.Line, "schema of %s is %.60q: %s", of, name, suggestWord(name, all))
}

func (p *parser) each(m member, what string) Each {
	const forms = "write sections, issue, a list of names, a range such as 1..100, or {from: artifacts/list.json}"
	switch {
	case m.value == nil:
		return Each{Once: true}
	case m.value.Kind == yaml.MappingNode:
		f := p.fields(m.value, what, "from")
		if _, there := f["from"]; !there {
			p.say(m.value.Line, "%s has no from: %s", what, forms)
		}
		return Each{From: p.text(f["from"], "from in "+what)}
	case m.value.Kind == yaml.SequenceNode:
		return Each{List: p.scopes(m, what)}
	}
	word := m.value.Value
	switch word {
	case "sections":
		return Each{Sections: true}
	case "issue":
		return Each{Issue: true}
	}
	from, to, isRange := strings.Cut(word, "..")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if m.value.ShortTag() != "!!str" || !isRange || err1 != nil || err2 != nil || first < 0 {
		p.say(m.value.Line, "%s is %s: %s", what, quoteNode(m.value), forms)
		return Each{}
	}
	if last < first {
		p.say(m.value.Line, "%s is %.60q, which counts nothing: write the smaller number first", what, word)
		return Each{}
	}
	if last-first >= maxScopes {
		p.say(m.value.Line, "%s is %.60q: at most %d are allowed", what, word, maxScopes)
		return Each{}
	}
	if !p.countScopes(m.value.Line, what, last-first+1) {
		return Each{}
	}
	list := make([]string, 0, last-first+1)
	for i := first; i <= last; i++ {
		list = append(list, strconv.Itoa(i))
	}
	return Each{List: list}
}

// countScopes keeps all workers together within bounds.
func (p *parser) countScopes(line int, what string, more int) bool {
	if p.all += more; p.all > maxAll {
		p.say(line, "%s makes %d scopes in all workers: at most %d are allowed", what, p.all, maxAll)
		return false
	}
	return true
}

// scopes reads a list of names; numbers need no quotes.
func (p *parser) scopes(m member, what string) []string {
	if len(m.value.Content) == 0 {
		p.say(m.value.Line, "%s is an empty list: name something, or leave it out", what)
	}
	if !p.countScopes(m.value.Line, what, len(m.value.Content)) {
		return nil
	}
	var list []string
	seen := map[string]bool{}
	for _, node := range m.value.Content {
		name := p.scalar(member{value: node}, "an entry of "+what)
		switch {
		case node.Kind != yaml.ScalarNode:
		case !ValidScope(name):
			p.say(node.Line, "%s names %s: use 1 to 80 letters, digits, dots, _ and -", what, quoteNode(node))
		case seen[name]:
			p.say(node.Line, "%.60q appears twice in %s: keep one", name, what)
		default:
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}
