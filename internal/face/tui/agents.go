package tui

import (
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
)

// agents is everybody, with the ways between them. It is made anew when somebody is
// born, dies or changes; looking is cheap.
type agents struct {
	Agents
	at     map[id.Agent]int
	living []agent.Node // as a tree
	row    map[id.Agent]int
	kids   map[id.Agent][]id.Agent
	lines  []string // before the names of living; made when first drawn
}

func newAgents(c Agents) *agents {
	if c.States == nil {
		c.States = map[id.Agent]state.State{}
	}
	out := &agents{Agents: c, at: make(map[id.Agent]int, len(c.All)), row: map[id.Agent]int{}, kids: map[id.Agent][]id.Agent{}}
	for i := range c.All {
		out.at[c.All[i].ID] = i
	}
	out.living = agent.Tree(c.All, func(a *agent.Agent) bool { return a.Status == agent.Running })
	for i, n := range out.living {
		out.row[n.ID] = i
		if n.Home != "" {
			out.kids[n.Home] = append(out.kids[n.Home], n.ID)
		}
	}
	return out
}

func (c *agents) branches() []string {
	if c.lines == nil {
		c.lines = branches(c.living)
	}
	return c.lines
}

func (c *agents) get(a id.Agent) (agent.Agent, bool) {
	if c == nil {
		return agent.Agent{}, false
	}
	i, ok := c.at[a]
	if !ok {
		return agent.Agent{}, false
	}
	return c.All[i], true
}

// label is what an agent is called; it is safe to show.
func (c *agents) label(a id.Agent) string {
	if found, ok := c.get(a); ok {
		return found.Label()
	}
	return a.Short()
}

func (c *agents) zero() (agent.Agent, bool) {
	if c != nil {
		for _, a := range c.All {
			if a.IsZero() {
				return a, true
			}
		}
	}
	return agent.Agent{}, false
}

// up is the nearest living ancestor.
func (c *agents) up(a id.Agent) (id.Agent, bool) {
	now, ok := c.get(a)
	for ok && now.Parent != "" {
		if now, ok = c.get(now.Parent); ok && now.Status == agent.Running {
			return now.ID, true
		}
	}
	return "", false
}

// children are the living ones, oldest first: also those whom a dead child left.
func (c *agents) children(a id.Agent) []id.Agent {
	if c == nil {
		return nil
	}
	return c.kids[a]
}

// siblings are those under the same living ancestor, the agent included, oldest
// first. The dead stand alone.
func (c *agents) siblings(a id.Agent) []id.Agent {
	if _, ok := c.row[a]; !ok {
		return []id.Agent{a}
	}
	home := c.living[c.row[a]].Home
	if home == "" {
		return []id.Agent{a}
	}
	return c.children(home)
}

// beside is the sibling n steps further, around the end.
func (c *agents) beside(a id.Agent, n int) (id.Agent, bool) {
	if c == nil {
		return "", false
	}
	all := c.siblings(a)
	if len(all) < 2 {
		return "", false
	}
	for i, s := range all {
		if s == a {
			return all[((i+n)%len(all)+len(all))%len(all)], true
		}
	}
	return "", false
}

func (c *agents) down(a id.Agent) (id.Agent, bool) {
	children := c.children(a)
	if len(children) == 0 {
		return "", false
	}
	return children[len(children)-1], true
}

// below counts the living below an agent, through the dead.
func (c *agents) below(a id.Agent) int {
	under := map[id.Agent]bool{a: true}
	n := 0
	for _, one := range c.All { // parents are older than their children
		if under[one.Parent] {
			under[one.ID] = true
			if one.Status == agent.Running {
				n++
			}
		}
	}
	return n
}

// find is the agent that a user means: as agent.Find, among those who are known.
func (c *agents) find(ref string) (agent.Agent, bool) {
	if ref == "0" {
		return c.zero()
	}
	if a, ok := c.get(id.Agent(ref)); ok {
		return a, true
	}
	var fits []agent.Agent
	var dead agent.Agent
	for _, a := range c.All {
		switch {
		case a.Name == ref && a.Status == agent.Running:
			return a, true
		case a.Name == ref && (dead.ID == "" || a.EndedAt.After(dead.EndedAt)):
			dead = a
		case len(ref) >= 4 && len(ref) <= len(a.ID) && string(a.ID[:len(ref)]) == ref:
			fits = append(fits, a)
		}
	}
	if dead.ID != "" {
		return dead, true
	}
	if len(fits) == 1 {
		return fits[0], true
	}
	return agent.Agent{}, false
}

func cost(a agent.Agent) string { return money(llm.Money(a.Spent.Cost)) }

// branches draws the lines in front of names.
func branches(nodes []agent.Node) []string {
	const deepest = 12
	out := make([]string, len(nodes))
	var more [deepest + 1]bool
	for i := len(nodes) - 1; i >= 0; i-- {
		level := min(nodes[i].Indent, deepest)
		for l := 1; l < level; l++ {
			if more[l] {
				out[i] += "│ "
			} else {
				out[i] += "  "
			}
		}
		if level > 0 {
			if more[level] {
				out[i] += "├ "
			} else {
				out[i] += "└ "
			}
		}
		more[level] = true
		clear(more[level+1:])
	}
	return out
}
