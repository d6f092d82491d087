package agent

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

const (
	minPrefix = 4
	maxListed = 8
)

// Find reads the agent a user means: `0`, a full uuid, the name of a living
// agent, the name of the one that died last, or a unique prefix of a uuid of
// four or more characters, in this order; so a name shadows a prefix.
func Find(ctx context.Context, d Directory, ref string) (Agent, error) {
	if ref == "0" {
		return d.Zero(ctx)
	}
	if full, err := id.ParseAgent(ref); err == nil {
		a, err := d.Agent(ctx, full)
		if !fault.Is(err, fault.NotFound) {
			return a, err
		}
	}
	if CheckName(ref) == nil {
		if a, ok, err := d.Named(ctx, ref); ok || err != nil {
			return a, err
		}
	}
	if !id.IsPrefix(ref) {
		return Agent{}, unknownAgent(ctx, d, ref)
	}
	if len(ref) < minPrefix {
		if near := unknownAgent(ctx, d, ref); near.Hint != noNames {
			return Agent{}, near
		}
		return Agent{}, fault.New(fault.InvalidID, "%q is too short for an agent's uuid", ref).
			WithHint("give at least %d characters of the uuid, or a name; `ramet ps --all` lists them", minPrefix)
	}
	found, err := d.Prefixed(ctx, ref, maxListed+1)
	if err != nil {
		return Agent{}, err
	}
	switch len(found) {
	case 0:
		return Agent{}, unknownAgent(ctx, d, ref)
	case 1:
		return found[0], nil
	}
	return Agent{}, fault.New(fault.Ambiguous, "%q fits several agents: %s", ref, listNames(found)).
		WithHint("give more characters")
}

func listNames(found []Agent) string {
	var b strings.Builder
	for i, a := range found {
		if i == maxListed {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(a.ID))
		if a.Name != "" {
			b.WriteString(" (" + a.Name + ")")
		}
	}
	return b.String()
}

const noNames = "`ramet ps --all` lists the agents"

func unknownAgent(ctx context.Context, d Directory, ref string) *fault.Error {
	err := fault.New(fault.NotFound, "no agent %q", text.Line(ref, 80))
	names, _ := d.Names(ctx) // where they cannot be had, none is near
	return err.WithHint("%s", text.NearestHint(ref, names, noNames))
}

// Node is an agent in its place in the tree.
type Node struct {
	*Agent
	Indent int      // steps below the top of what is shown
	Home   id.Agent // nearest shown ancestor: where navigation and mail go up to
}

// none is the place of no agent.
const none = -1

// Tree puts agents under their parents, oldest sibling first, parents before
// children. An agent whose parent is dead, or not among those shown, hangs
// under its nearest living ancestor, as orphans under init. all must hold
// every ancestor of those shown: whose way up ends outside of it stands at
// the top, without a home. The nodes point into all.
func Tree(all []Agent, show func(*Agent) bool) []Node {
	at := make(map[id.Agent]int32, len(all))
	for i := range all {
		at[all[i].ID] = int32(i)
	}
	shown := make([]bool, len(all))
	for i := range all {
		shown[i] = show(&all[i])
	}
	// home is the nearest shown ancestor of each that is shown.
	home := func(i int) int32 {
		for up, ok := at[all[i].Parent]; ok; up, ok = at[all[up].Parent] {
			if shown[up] {
				return up
			}
		}
		return none
	}
	// Children as lists through two arrays, newest first while they are made:
	// going backwards, each is put in front of its younger siblings.
	first, next, homes := fillWithNone(len(all)+1), fillWithNone(len(all)), fillWithNone(len(all))
	for i := len(all) - 1; i >= 0; i-- {
		if shown[i] {
			homes[i] = home(i)
			next[i], first[homes[i]+1] = first[homes[i]+1], int32(i)
		}
	}
	nodes := make([]Node, 0, len(all))
	// No recursion: ancestry may be thousands deep.
	for i, indent := first[0], 0; i != none; {
		n := Node{Agent: &all[i], Indent: indent}
		if homes[i] != none {
			n.Home = all[homes[i]].ID
		}
		nodes = append(nodes, n)
		if down := first[i+1]; down != none {
			i, indent = down, indent+1
			continue
		}
		for next[i] == none && homes[i] != none {
			i, indent = homes[i], indent-1
		}
		i = next[i]
	}
	return nodes
}

// fillWithNone makes a list of n times none.
func fillWithNone(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = none
	}
	return out
}

// CountLiving counts the living among an agent and everything below it, also below the dead.
// all is in the order of creation, so that parents come first.
func CountLiving(all []Agent, root id.Agent) int {
	n, below := 0, map[id.Agent]bool{root: true}
	for _, a := range all {
		if a.ID != root && !below[a.Parent] {
			continue
		}
		below[a.ID] = true
		if a.Status == Running {
			n++
		}
	}
	return n
}
