package recipe

import (
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
