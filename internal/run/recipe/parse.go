package recipe

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// Parse reads a recipe. All mistakes are reported at once: INVALID_RECIPE, whose
// cause are Mistakes.
func Parse(data []byte) (*Recipe, error) {
	p := &parser{recipe: &Recipe{States: map[run.State][]string{}, Schemas: map[string]*Schema{}}}
	root := p.document(data)
	if root != nil {
		p.read(root)
	}
	if root != nil && len(p.found) == 0 {
		// What holds between workers is looked at when each is in order by itself: else
		// one slip would be reported many times.
		p.checkTogether()
	}
	if err := p.fault(); err != nil {
		return nil, err
	}
	return p.recipe, nil
}

// parser is a recipe that is being read, with the lines of its parts.
type parser struct {
	mistakeList
	recipe  *Recipe
	workers []*workerLines
	stands  map[run.State][]lined // checkNames of workers
	all     int                   // scopes so far

	gateInputs []gateInput
}

// gateInput holds the inputs of a gate, with their lines.
type gateInput struct {
	gate   string
	inputs []lined
}

func (p *parser) read(root *yaml.Node) {
	f := p.fields(root, "the recipe", "name", "description", "brief", "parameters", "sections", "schemas", "agents", "workers", "states", "gates", "limits")
	r := p.recipe
	if r.Name = p.text(f["name"], "name"); r.Name != "" && !nameRule().MatchString(r.Name) {
		p.say(f["name"].value.Line, "name is %.60q: begin with a small letter, then at most 39 small letters, digits and -", r.Name)
	}
	for _, needed := range []string{"name", "workers", "states"} {
		if _, there := f[needed]; !there && root.Kind == yaml.MappingNode {
			p.say(root.Line, "the recipe has no %s: add it", needed)
		}
	}
	r.Description = p.text(f["description"], "description")
	r.Brief = p.text(f["brief"], "brief")
	p.parameters(f["parameters"])
	p.sections(f["sections"])
	p.schemas(f["schemas"])
	p.agents(f["agents"])
	for _, m := range p.named(f["workers"], "workers", "worker", maxWorkers) {
		p.worker(m)
	}
	p.states(f["states"])
	for _, m := range p.named(f["gates"], "gates", "gate", maxSections) {
		p.gate(m)
	}
	p.limits(f["limits"])
	r.Limits = r.Limits.WithDefaults()
}

// named reads a mapping of names to what they mean.
func (p *parser) named(m member, what, one string, most int) []member {
	if m.value == nil {
		return nil
	}
	all := p.members(m.value, what)
	if len(all) > most {
		p.say(m.line, "%s has %d entries: at most %d are allowed", what, len(all), most)
		return nil
	}
	if len(all) == 0 && m.value.Kind == yaml.MappingNode {
		p.say(m.line, "%s is empty: add a %s, or leave it out", what, one)
	}
	var good []member
	for _, m := range all {
		if !nameRule().MatchString(m.key) && one != "parameter" {
			p.say(m.line, "%.60q is not a name for a %s: begin with a small letter, then at most 39 small letters, digits and -", m.key, one)
			continue
		}
		good = append(good, m)
	}
	return good
}

func (p *parser) parameters(m member) {
	for _, m := range p.named(m, "parameters", "parameter", maxSections) {
		switch {
		case !paramRule().MatchString(m.key):
			p.say(m.line, "%.60q is not a name for a parameter: begin with a small letter, then at most 39 small letters, digits and _", m.key)
			continue
		case slices.Contains(given, m.key):
			p.say(m.line, "a parameter cannot be called %s, which has a meaning already: choose another name", m.key)
			continue
		}
		one := Parameter{Name: m.key}
		if m.value.Kind != yaml.ScalarNode || m.value.ShortTag() != "!!null" { // `title:` alone is enough
			what := "parameter " + m.key
			f := p.fields(m.value, what, "default", "required", "help")
			one.Default = p.scalar(f["default"], "default of "+what)
			one.Required = p.truth(f["required"], "required of "+what)
			one.Help = p.text(f["help"], "help of "+what)
			if _, both := f["default"]; both && one.Required {
				p.say(m.line, "%s is required and has a default: keep one of them", what)
			}
		}
		p.recipe.Parameters = append(p.recipe.Parameters, one)
	}
}

func (p *parser) sections(m member) {
	for _, m := range p.named(m, "sections", "section", maxSections) {
		what := "section " + m.key
		f := p.fields(m.value, what, "title", "brief")
		one := Section{Name: m.key, Title: p.text(f["title"], "title of "+what), Brief: p.text(f["brief"], "brief of "+what)}
		if one.Title == "" {
			one.Title = m.key
		}
		p.recipe.Sections = append(p.recipe.Sections, one)
	}
}

// states reads the workers of the states.
func (p *parser) states(m member) {
	p.stands = map[run.State][]lined{}
	if m.value == nil {
		return
	}
	var known []string
	for _, s := range working {
		known = append(known, string(s))
	}
	for _, m := range p.members(m.value, "states") {
		switch state := run.State(m.key); {
		case slices.Contains(working, state):
			p.stands[state] = p.list(m, m.key, maxWorkers)
			p.recipe.States[state] = textsOf(p.stands[state])
		case state == run.Validating:
			p.say(m.line, "VALIDATING has no workers: what is checked goes under gates")
		case slices.Contains(run.States(), state):
			p.say(m.line, "%s has no workers: take it out", m.key)
		default:
			p.say(m.line, "there is no state %.60q: %s", m.key, suggestWord(m.key, known))
		}
	}
	if len(p.stands) == 0 {
		p.say(m.line, "states is empty: list the workers of each state")
	}
}

func (p *parser) gate(m member) {
	what := "gate " + m.key
	f := p.fields(m.value, what, "uses", "command", "with", "inputs", "severity", "timeout")
	inputs := p.list(f["inputs"], "inputs of "+what, maxPaths)
	for _, in := range inputs {
		if p.checkPath(in, "input", what) && strings.Contains(in.text, "{scope}") {
			p.say(in.line, "input %.100q of %s names {scope}, which a gate has not: take it out", in.text, what)
		}
	}
	if in, there := f["inputs"]; there && f["uses"].value != nil {
		p.say(in.line, "%s has inputs, and a built-in gate knows what it looks at: leave them out", what)
	}
	p.gateInputs = append(p.gateInputs, gateInput{m.key, inputs})
	g := Gate{Name: m.key, Line: m.line, Uses: p.word(f["uses"], "uses of "+what, gates()), Command: p.text(f["command"], "command of "+what),
		With: p.with(f["with"], what), Inputs: textsOf(inputs),
		Severity: p.word(f["severity"], "severity of "+what, severities), Timeout: p.duration(f["timeout"], "timeout of "+what)}
	p.oneOf(m, f, what, "uses", "command")
	if s, there := f["severity"]; there && g.Uses != "" {
		p.say(s.line, "%s has a severity, which a built-in gate gives to each issue itself: leave it out", what)
	}
	for _, key := range slices.Sorted(maps.Keys(g.With)) {
		p.checkNames(f["with"].line, "with of "+what, g.With[key], "sections")
	}
	if g.Severity == "" && g.Command != "" {
		g.Severity = "error"
	}
	if g.Timeout == 0 {
		g.Timeout = defaultGateTimeout
	}
	p.recipe.Gates = append(p.recipe.Gates, g)
}

func (p *parser) limits(m member) {
	l := &p.recipe.Limits
	if m.value == nil {
		return
	}
	f := p.fields(m.value, "limits", "parallel", "attempts", "fix_attempts", "fix_rounds", "runtime", "calls", "tokens", "cost_usd", "files", "lines_per_file")
	l.Parallel = int(p.integer(f["parallel"], "parallel", 1, 1000))
	l.Attempts = int(p.integer(f["attempts"], "attempts", 1, 100))
	l.FixAttempts = int(p.integer(f["fix_attempts"], "fix_attempts", 1, 100))
	l.FixRounds = int(p.integer(f["fix_rounds"], "fix_rounds", 1, 1000))
	l.Runtime = p.duration(f["runtime"], "runtime")
	l.Calls = p.integer(f["calls"], "calls", 0, 1<<53-1)
	l.Tokens = p.integer(f["tokens"], "tokens", 0, 1<<53-1)
	l.CostUSD = p.amount(f["cost_usd"], "cost_usd")
	l.Files = int(p.integer(f["files"], "files", 0, math.MaxInt32))
	l.LinesPerFile = int(p.integer(f["lines_per_file"], "lines_per_file", 0, math.MaxInt32))
}

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

// Definition is an agent that workers can be: its first message, and what it may use at
// most. One that a recipe names and does not hold is put into its text when a run begins (see
// Define), so that the run has the same on every host and whenever it is resumed.
type Definition struct {
	Name    string   `json:"name" yaml:"-"`
	From    string   `json:"from,omitempty" yaml:"from,omitempty"` // the file where it was defined; empty: the recipe
	Prompt  string   `json:"prompt" yaml:"prompt"`
	Driver  string   `json:"driver,omitempty" yaml:"driver,omitempty"` // the program that drives it; empty: ramet's own loop
	Model   string   `json:"model,omitempty" yaml:"model,omitempty"`
	Effort  string   `json:"effort,omitempty" yaml:"effort,omitempty"`
	Tools   ToolList `json:"tools" yaml:"tools,flow,omitempty"`        // names, with what they are limited to in brackets; nil: all
	Tokens  int64    `json:"tokens,omitempty" yaml:"tokens,omitempty"` // it may use; 0: no limit of its own
	CostUSD float64  `json:"cost_usd,omitempty" yaml:"cost_usd,omitempty"`
}

// ToolList lists tools; nil is not an empty list.
type ToolList []string

// IsZero keeps an empty list in YAML.
func (l ToolList) IsZero() bool { return l == nil }

// maxAgentName is the longest name of a definition.
const maxAgentName = 64

func (p *parser) agents(m member) {
	p.recipe.Agents = map[string]Definition{}
	if m.value == nil {
		return
	}
	all := p.members(m.value, "agents")
	if len(all) > maxWorkers {
		p.say(m.line, "agents has %d entries: at most %d are allowed", len(all), maxWorkers)
		return
	}
	for _, m := range all {
		what := "agent " + strconv.Quote(m.key)
		if m.key == "" || len(m.key) > maxAgentName {
			p.say(m.line, "%.80s has no good name: use 1 to %d bytes", what, maxAgentName)
			continue
		}
		of := func(key string) string { return key + " of " + what }
		f := p.fields(m.value, what, "from", "prompt", "tools", "driver", "model", "effort", "tokens", "cost_usd")
		d := Definition{Name: m.key, From: p.text(f["from"], of("from")), Prompt: p.text(f["prompt"], of("prompt")), Effort: p.word(f["effort"], of("effort"), llm.Efforts()),
			Driver: p.driver(f["driver"], of("driver")), Model: p.text(f["model"], of("model")), Tokens: p.integer(f["tokens"], of("tokens"), 1, 1<<53-1), CostUSD: p.amount(f["cost_usd"], of("cost_usd"))}
		if _, there := f["tools"]; there {
			d.Tools = append([]string{}, textsOf(p.list(f["tools"], of("tools"), maxSections))...)
		}
		if why := badModel(d.Driver, d.Model); d.Model != "" && why != "" {
			p.say(f["model"].value.Line, "%s is %.60q: %s", of("model"), d.Model, why)
		}
		if _, there := f["prompt"]; !there && m.value.Kind == yaml.MappingNode {
			p.say(m.line, "%s has no prompt: add it", what)
		}
		p.recipe.Agents[m.key] = d
	}
}

// applyAgent completes a worker with what its definition says, and removes the
// tools away that the definition leaves out.
func (r *Recipe) applyAgent(w *Worker) {
	d, ok := r.Agents[w.Agent]
	if !ok {
		return
	}
	if w.Driver == "" && w.Model == "" {
		w.Driver, w.Model = d.Driver, d.Model
	}
	if w.Effort == "" {
		w.Effort = d.Effort
	}
	if d.Tools == nil {
		return
	}
	if w.Tools == nil {
		w.Tools = tools()
	}
	w.Tools = slices.DeleteFunc(slices.Clone(w.Tools), func(name string) bool {
		return !slices.ContainsFunc(d.Tools, func(one string) bool {
			word, _, _ := strings.Cut(one, "(")
			return word == name || one == "*"
		})
	})
}

// Undefined returns the agents that workers name and the recipe does not hold, sorted.
func (r *Recipe) Undefined() []string {
	var out []string
	for _, w := range r.Workers {
		if _, ok := r.Agents[w.Agent]; w.Agent != "" && !ok && !slices.Contains(out, w.Agent) {
			out = append(out, w.Agent)
		}
	}
	slices.Sort(out)
	return out
}

// AddAgents returns the text of a recipe with these agents in it besides its own. The rest of
// it stays.
func AddAgents(text []byte, agents []Definition) ([]byte, error) {
	if len(agents) == 0 {
		return text, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fault.New(fault.InvalidRecipe, "put agents into the recipe: it is not a mapping")
	}
	root := doc.Content[0]
	var into *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "agents" {
			into = root.Content[i+1]
		}
	}
	if into == nil {
		into = &yaml.Node{Kind: yaml.MappingNode}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "agents"}, into)
	}
	for _, d := range agents {
		var name, body yaml.Node
		name.SetString(d.Name)
		if err := body.Encode(d); err != nil {
			return nil, fault.New(fault.InvalidRecipe, "put agents into the recipe: %w", err)
		}
		into.Content = append(into.Content, &name, &body)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fault.New(fault.InvalidRecipe, "put agents into the recipe: %w", err)
	}
	return out.Bytes(), enc.Close()
}
