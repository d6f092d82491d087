package agent

import "ramet/internal/id"

// Node is an agent in its place in the tree.
type Node struct {
	Agent
	Indent int      // steps below the top of what is shown
	Home   id.Agent // nearest shown ancestor: where navigation and mail go up to
}

// Tree puts agents under their parents, oldest sibling first, parents before
// children. An agent whose parent is dead, or not among those shown, hangs
// under its nearest living ancestor, as orphans under init. all must hold
// every ancestor of those shown.
func Tree(all []Agent, show func(Agent) bool) []Node {
	byID := make(map[id.Agent]Agent, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	children := map[id.Agent][]Agent{}
	for _, a := range all {
		if show(a) {
			home := home(byID, a, show)
			children[home] = append(children[home], a)
		}
	}
	nodes := make([]Node, 0, len(all))
	type place struct {
		home   id.Agent
		indent int
		next   int
	}
	// A stack of our own: ancestry may be thousands deep.
	for stack := []place{{}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if top.next == len(children[top.home]) {
			stack = stack[:len(stack)-1]
			continue
		}
		a := children[top.home][top.next]
		top.next++
		nodes = append(nodes, Node{Agent: a, Indent: top.indent, Home: top.home})
		stack = append(stack, place{home: a.ID, indent: top.indent + 1})
	}
	return nodes
}

func home(byID map[id.Agent]Agent, a Agent, show func(Agent) bool) id.Agent {
	for up, ok := byID[a.Parent]; ok; up, ok = byID[up.Parent] {
		if show(up) {
			return up.ID
		}
	}
	return ""
}
