package files

import (
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// pastStep is one state of a folder, and what changed since the one before.
type pastStep struct {
	N    int64      `json:"n"`
	At   int64      `json:"at"`
	Root chain.Hash `json:"root"`
	// By has for each path that changed, escaped, whose change it is; empty: foreign to all.
	By map[string]id.Agent `json:"by,omitempty"`
	// During has for paths that changed while a call of one agent was running whose call that was.
	// The agent may have changed them, or a person; in By they are foreign.
	During map[string]id.Agent `json:"during,omitempty"`
	// Lost reports that what changed is unknown.
	Lost bool `json:"lost,omitempty"`
}

func (f *PastFolder) stepsFile() string { return filepath.Join(f.dir, "steps") }

// steps reads those after one, oldest first. last is the newest of all; N is 0 where there
// is none.
func (f *PastFolder) steps(after int64) (found []pastStep, last pastStep, err error) {
	all := jsonLines{path: f.stepsFile()}
	err = all.read(func() {}, func(line []byte) {
		var s pastStep
		if json.Unmarshal(line, &s) != nil {
			s = pastStep{N: last.N, Root: last.Root, Lost: true}
		}
		if last = s; s.N > after {
			found = append(found, s)
		}
	})
	return found, last, err
}

// latest returns the newest step; N is 0 where there is none. Only what was added since is read.
func (f *PastFolder) latest() (pastStep, error) {
	f.added.path = f.stepsFile()
	err := f.added.read(func() { f.last = pastStep{} }, func(line []byte) {
		var s pastStep
		if json.Unmarshal(line, &s) == nil {
			f.last = s
		}
	})
	return f.last, err
}

// noted is the step of a state, and what changed since the one before.
type noted struct {
	pastStep
	before  chain.Hash // the root of that one
	changes []Change
}

// author names the agent that made a change.
type author struct {
	agent id.Agent // empty: it is foreign to all
	sure  bool     // false: it happened while a call of the agent was running
}

// errStale reports that other states were noted since a walk began: what it saw may be older.
var errStale = errors.New("a newer state is noted")

// anyStep is a since that no state is too new for.
const anyStep = -1

// note adds a state to the folder's, if it is another than the last. Whose changes are is
// told by whose, once they are known. If states were added since the step since, nothing is noted:
// errStale.
func (f *PastFolder) note(root chain.Hash, since int64, src Source, whose func([]Change) func(Change) author) (n noted, err error) {
	err = durable.While(f.ctx(), f.stepsFile(), func() error {
		last, err := f.latest()
		if err != nil {
			return err
		}
		if last.N > 0 && last.Root == root {
			n = noted{pastStep: last, before: root}
			return nil
		}
		if last.N != since && since != anyStep {
			return errStale
		}
		n = noted{pastStep: pastStep{N: last.N + 1, At: now(), Root: root}, before: last.Root}
		if last.N > 0 {
			n.changes, err = Diff(src, last.Root, root)
			switch {
			case fault.Is(err, fault.NotFound):
				n.Lost, n.before = true, chain.Hash{}
			case err != nil:
				return err
			default:
				n.credit(whose(n.changes))
			}
		}
		return f.added.append(n.pastStep)
	})
	return n, err
}

// credit notes whose each change is.
func (n *noted) credit(whose func(Change) author) {
	n.By, n.During = map[string]id.Agent{}, map[string]id.Agent{}
	for _, c := range n.changes {
		path, by := url.PathEscape(c.Path), whose(c)
		if n.By[path] = ""; by.sure {
			n.By[path] = by.agent
		} else if by.agent != "" {
			n.During[path] = by.agent
		}
	}
}

// Keep returns why an agent's restore is to keep a path that changed since a step, or nothing: all
// changes are the agent's own. What changed while a command of the agent was running counts as its
// own if commands is set.
func (f *PastFolder) Keep(a id.Agent, since int64, commands bool) (func(path string) string, error) {
	found, last, err := f.steps(since)
	if err != nil {
		return nil, err
	}
	lost := since <= 0 || since > last.N || since < last.N && (len(found) == 0 || found[0].N != since+1)
	why := map[string]string{}
	for _, s := range found {
		lost = lost || s.Lost
		for path, by := range s.By {
			switch {
			case by == a && a != "", s.During[path] == a && commands:
				why[path] += "" // it is known
			case s.During[path] == a && why[path] != Foreign:
				why[path] = Running
			default:
				why[path] = Foreign
			}
		}
	}
	return func(path string) string {
		if reason, known := why[url.PathEscape(path)]; known && !lost {
			return reason
		}
		return Foreign
	}, nil
}
