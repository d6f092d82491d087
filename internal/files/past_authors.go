package files

import (
	"path/filepath"

	"ramet/internal/base/id"
)

// authors returns whose changes of the folder are. own has the paths that a restore changed which is
// just done, and whose it is; when tells when a path changed.
//
// A restore that is under way, and the tools of ours that write files, say what they write: a change
// that leads to just that is theirs for sure. Of what changed while a call of one agent was running
// it is unknown whether the agent changed it or a person. Only folders count as the agent's own then:
// one is removed only when it is empty, so that nothing in it can be lost.
func (f *PastFolder) authors(when func(path string) (int64, bool), own map[string]id.Agent) func(Change) author {
	spans, _ := f.past.calls.read() // without notes everything is foreign
	restoring := f.past.restoring()
	return func(c Change) author {
		if a, ok := own[c.Path]; ok {
			return author{a, true}
		}
		path := filepath.Join(f.root, c.Path)
		if r, ok := restoring[path]; ok && r.explains(c) {
			return author{r.agent, true}
		}
		if c.After != nil && c.After.Kind == File {
			if a := f.past.calls.author(path, c.After.Hash); a != "" {
				return author{a, true}
			}
		}
		at, ok := when(c.Path)
		if !ok {
			return author{}
		}
		return author{whose(spans, f.root, at), isFolder(c.Before) && isFolder(c.After)}
	}
}

func isFolder(n *Node) bool { return n == nil || n.Kind == Dir }

// restored records the result that a restore under way has for a path.
type restored struct {
	agent id.Agent
	to    *Node
}

// explains reports whether a change is the restore's, or a step on its way: nothing there yet, or a
// folder that does not have its mode yet.
func (r restored) explains(c Change) bool {
	if isFolder(c.After) {
		return true
	}
	return r.to != nil && r.to.Kind == c.After.Kind && r.to.Hash == c.After.Hash
}

// restoring has what restores of agents that are under way change, by path.
func (p *Past) restoring() map[string]restored {
	out := map[string]restored{}
	for _, plan := range p.journal.Underway() {
		if plan.Agent == "" {
			continue
		}
		for _, s := range plan.Steps {
			out[filepath.Join(plan.Root, s.Path)] = restored{plan.Agent, s.After}
		}
	}
	return out
}
