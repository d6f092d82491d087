package process

import (
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
)

// Role describes a child that a definition creates.
type Role struct {
	Entry           history.Draft // what it is told first
	Provider, Model string        // empty: its parent's
	Inherit         bool          // it knows its parent's conversation, unless the call says otherwise
	Worktree        bool
	Effort          llm.Effort      // empty: its parent's
	Budget          *history.Budget // what it may spend; nil: what its parent has left
	Limit           *history.Limit  // what it has of its parent's tools; nil: all
}

// Bounds drafts what a role may not exceed, its budget and its tools; nothing: as its parent.
func (r Role) Bounds() []history.Draft {
	var out []history.Draft
	if r.Budget != nil {
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: r.Budget}})
	}
	if r.Limit != nil {
		out = append(out, registry.LimitEntry(*r.Limit))
	}
	return out
}

// Roles finds definitions of agents by their names; a kernel that has some is one.
type Roles interface {
	// Role is NOT_FOUND where nothing of that name is defined.
	Role(name string) (Role, error)
	// Defined reports whether there are any definitions.
	Defined() bool
}

// play makes a planned child one of a role.
func (f fork) play(c *child) error {
	if c.args.definition() == "" {
		return nil
	}
	roles, ok := f.kernel.(Roles)
	if !ok {
		return fault.New(fault.NotFound, "no agent %.60q is defined", c.args.definition())
	}
	r, err := roles.Role(c.args.definition())
	if err != nil {
		return err
	}
	c.role = &r
	if c.args.Context == "" && !r.Inherit {
		c.args.Context = nothing
	}
	c.args.Worktree = c.args.Worktree || r.Worktree
	if c.args.Effort == "" {
		c.args.Effort = r.Effort
	}
	c.child.Provider, c.child.Model = r.Provider, r.Model
	return nil
}

// begin puts what a role is told before the child's prompt, which is the last of its entries.
func (c child) begin(entries []history.Draft) []history.Draft {
	if c.role == nil || len(entries) == 0 {
		return entries
	}
	return slices.Insert(entries, len(entries)-1, append(c.role.Bounds(), c.role.Entry)...)
}
