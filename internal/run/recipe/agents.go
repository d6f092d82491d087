package recipe

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

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

// Undefined are the agents that workers name and the recipe does not hold, sorted.
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
