package session

import (
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/run/recipe"
	"ramet/internal/tools/talk"
)

// Role is the definition of an agent, as a child begins with it.
func (w Agents) Role(name string) (process.Role, error) {
	k, err := w.ws.Project().Kit()
	if err != nil {
		return process.Role{}, err
	}
	r, err := findDefinition(k, name)
	if err != nil {
		return process.Role{}, err
	}
	out := process.Role{Inherit: r.Context == "inherit", Worktree: r.Worktree, Effort: r.Effort, Budget: r.Budget}
	// Another program's word for a model is none of ours: then it is the parent's.
	if ref, err := llm.ParseRef(r.Model); err == nil {
		out.Provider, out.Model = ref.Vendor, ref.Name
	}
	if r.Driver != "" {
		model := r.Model
		if model == "inherit" {
			model = ""
		}
		ref, err := w.ws.Programs().Driver(r.Driver, model)
		if err != nil {
			return process.Role{}, err
		}
		out.Provider, out.Model = ref.Vendor, ref.Name
	}
	if r.Tools != nil {
		out.Limit = &history.Limit{By: "agent " + r.Name, Tools: r.Tools}
	}
	out.Entry, err = talk.Entry(r)
	return out, err
}

// play makes a child that a person asks for one of a role.
func (w Agents) play(f *Fork, c *registry.Child) error {
	if f.Role == "" {
		return nil
	}
	r, err := w.Role(f.Role)
	if err != nil {
		return err
	}
	if !r.Inherit && f.At == 0 {
		c.Entries = append(c.Entries, history.NewClear())
	}
	c.Entries = append(append(c.Entries, r.Bounds()...), r.Entry)
	if f.Effort == "" {
		f.Effort = r.Effort
	}
	f.Worktree = f.Worktree || r.Worktree
	if f.Model == (llm.Ref{}) {
		c.Provider, c.Model = r.Provider, r.Model
	}
	return nil
}

// WorkerRoles returns definitions of agents for workers of a recipe, as the user has them and as a
// person accepted those of the project. One that is not there, or that a run cannot have, is
// refused.
func (w Agents) WorkerRoles(names []string) ([]recipe.Definition, error) {
	if len(names) == 0 {
		return nil, nil
	}
	k, err := w.ws.Project().Kit()
	if err != nil {
		return nil, err
	}
	var out []recipe.Definition
	for _, name := range names {
		r, err := findDefinition(k, name)
		if err != nil {
			return nil, err
		}
		d := recipe.Definition{Name: r.Name, From: r.Path, Prompt: r.Prompt, Tools: talk.Words(r.Tools), Effort: string(r.Effort), Driver: r.Driver}
		if _, err := llm.ParseRef(r.Model); err == nil || r.Driver != "" { // else another program's word is none of ours
			d.Model = r.Model
		}
		if b := r.Budget; b != nil && b.Tokens != nil {
			d.Tokens = *b.Tokens
		}
		if b := r.Budget; b != nil && b.Cost != nil {
			d.CostUSD = float64(*b.Cost) / 1e9
		}
		out = append(out, d)
	}
	return out, nil
}

// findDefinition finds a definition.
func findDefinition(k kit.Kit, name string) (kit.Role, error) {
	if r, ok := k.Role(name); ok {
		return r, nil
	}
	var names []string
	for _, other := range k.Roles {
		names = append(names, other.Name)
	}
	f := fault.New(fault.NotFound, "no agent %.60q is defined", name)
	return kit.Role{}, f.WithHint("%s", text.NearestHint(name, names, "definitions lie in .agents/agents and .claude/agents; `ramet trust` lets those of a project count"))
}
