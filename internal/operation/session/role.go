package session

import (
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
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
