package files

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
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
	file, err := durable.OpenFile(f.stepsFile(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, last, nil
	}
	if err != nil {
		return nil, last, err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return found, last, nil // what has no end was never written
		}
		var s pastStep
		if json.Unmarshal(text, &s) != nil {
			s = pastStep{N: last.N, Root: last.Root, Lost: true}
		}
		if last = s; s.N > after {
			found = append(found, s)
		}
	}
}

// latest returns the newest step; N is 0 where there is none. Only what was added since is read.
func (f *PastFolder) latest() (pastStep, error) {
	file, err := durable.OpenFile(f.stepsFile(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return pastStep{}, nil
	}
	if err != nil {
		return pastStep{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return pastStep{}, durable.Failure("read", f.stepsFile(), err)
	}
	t := &f.tail
	if t.info == nil || !os.SameFile(t.info, info) || info.Size() < t.offset {
		*t = tail{}
	}
	t.info = info
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return pastStep{}, durable.Failure("read", f.stepsFile(), err)
	}
	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return t.last, nil
		}
		t.offset += int64(len(text))
		var s pastStep
		if json.Unmarshal(text, &s) == nil {
			t.last = s
		}
	}
}

// tail describes how far the steps were read. The folder's mutex guards it.
type tail struct {
	info   os.FileInfo
	offset int64
	last   pastStep
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
		return f.append(n.pastStep)
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

func (f *PastFolder) append(s pastStep) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file, err := durable.OpenFile(f.stepsFile(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err != nil {
		return durable.Failure("write", f.stepsFile(), err)
	}
	return nil
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
