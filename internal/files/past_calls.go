package files

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/id"
)

// calls is the list of calls that may write: a line when one begins, and one when it ends; and
// one for each file that a tool of ours writes. All processes append to one file.
type calls struct {
	mu     sync.Mutex
	lines  jsonLines
	spans  []span
	wrote  map[string]written // by path, as callLine has it
	number atomic.Int64
}

// written describes what a tool put at a path last.
type written struct {
	agent id.Agent
	hash  chain.Hash
}

// span is when a call was open.
type span struct {
	Agent id.Agent
	Root  string
	name  string
	From  int64
	To    int64 // 0: it still is
}

type callLine struct {
	Begin string   `json:"begin,omitempty"` // its name; of a call that ends: End
	End   string   `json:"end,omitempty"`
	Agent id.Agent `json:"agent,omitempty"`
	Root  string   `json:"root,omitempty"`
	At    int64    `json:"at"`
	// Wrote is a path, escaped; Hash is that of the content that the agent's tool puts there.
	Wrote string      `json:"wrote,omitempty"`
	Hash  *chain.Hash `json:"hash,omitempty"`
}

// slack is by how much the clock of a file system may be behind.
const slack = 10 * time.Millisecond

// Begin notes that a call of an agent that may write in a folder begins; end that it is over.
// What cannot be noted makes changes foreign, and stops nothing.
func (p *Past) Begin(a id.Agent, root string) (end func()) {
	c := &p.calls
	name := fmt.Sprintf("%d.%d.%d", os.Getpid(), processStart(), c.number.Add(1))
	c.write(p.o.Dir, callLine{Begin: name, Agent: a, Root: root, At: now()})
	return sync.OnceFunc(func() { c.write(p.o.Dir, callLine{End: name, At: now()}) })
}

// Writes notes what a tool of an agent is about to put at a path of a folder: a change that leads to
// exactly this content is the agent's own, whatever else changes meanwhile.
func (f *PastFolder) Writes(a id.Agent, path string, content []byte) {
	h := chain.Sum(content)
	f.past.calls.write(f.past.o.Dir, callLine{Wrote: url.PathEscape(filepath.Join(f.root, path)), Hash: &h, Agent: a, At: now()})
}

// author returns the agent whose tool put a content at a path, as the last that any tool put there.
func (c *calls) author(path string, h chain.Hash) id.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.wrote[url.PathEscape(path)]; w.hash == h {
		return w.agent
	}
	return ""
}

// processStart tells two processes of the same number apart: the moment of the first call in this one.
var processStart = sync.OnceValue(func() int64 { return time.Now().UnixNano() })

func (c *calls) write(dir string, l callLine) {
	if durable.MakeFolder(dir, 0o700) == nil {
		_ = c.lines.append(l)
	}
}

// read takes in what was noted since.
func (c *calls) read() ([]span, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.lines.read(func() { c.spans, c.wrote = nil, nil }, c.take); err != nil {
		return nil, err
	}
	out := append([]span(nil), c.spans...)
	for i := range out {
		if out[i].To == 0 && gone(out[i].name) {
			out[i].To = now() // it ended somewhere before
		}
	}
	return out, nil
}

func (c *calls) take(text []byte) {
	var l callLine
	if json.Unmarshal(text, &l) != nil {
		return
	}
	if l.Wrote != "" && l.Hash != nil {
		if c.wrote == nil {
			c.wrote = map[string]written{}
		}
		c.wrote[l.Wrote] = written{l.Agent, *l.Hash}
		return
	}
	if l.Begin != "" {
		c.spans = append(c.spans, span{Agent: l.Agent, Root: l.Root, name: l.Begin, From: l.At})
		return
	}
	for i := len(c.spans) - 1; i >= 0; i-- {
		if c.spans[i].name == l.End {
			c.spans[i].To = l.At
			return
		}
	}
}

// gone reports whether the process that began a call is dead.
func gone(name string) bool {
	var pid int
	var start, n int64
	if _, err := fmt.Sscanf(name, "%d.%d.%d", &pid, &start, &n); err != nil {
		return true
	}
	return !alive(pid)
}

// whose returns the one agent with an open call in a folder at a moment; empty: there was none,
// or there were several.
func whose(spans []span, root string, at int64) id.Agent {
	var one id.Agent
	for _, s := range spans {
		if at < s.From-int64(slack) || s.To != 0 && at > s.To || !inside(s.Root, root) && !inside(root, s.Root) {
			continue
		}
		if one != "" && one != s.Agent {
			return ""
		}
		one = s.Agent
	}
	return one
}
