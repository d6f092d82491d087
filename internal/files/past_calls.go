package files

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/launch/sandbox"
)

// calls is the list of calls that may write: a line when one begins, and one when it ends; and
// one for each file that a tool of ours writes. All processes append to one file.
type calls struct {
	mu     sync.Mutex
	lines  jsonLines
	spans  []span
	wrote  map[string]written // by path, as callLine has it
	laid   map[string]applied // the same, of what overlays put there or removed
	number atomic.Int64
}

// applied describes what an agent's command changed at a path last, where it had an overlay.
type applied struct {
	agent id.Agent
	sandbox.OverlayChange
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
	exact bool  // all that its command changes is recorded, so that other changes are not its own
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
	// Exact says of the agent's newest call in the folder that what it changes is all in Applied, by escaped paths.
	Exact   bool                    `json:"exact,omitempty"`
	Applied []sandbox.OverlayChange `json:"applied,omitempty"`
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

// Overlaid notes that the command of an agent's call in the folder has an overlay: only what Applied tells is the command's.
func (f *PastFolder) Overlaid(a id.Agent) {
	f.past.calls.write(f.past.o.Dir, callLine{Exact: true, Agent: a, Root: f.root, At: now()})
}

// Applied notes what was changed in the folder for a command of an agent.
func (f *PastFolder) Applied(a id.Agent, changes []sandbox.OverlayChange) {
	for some := range slices.Chunk(changes, 500) {
		some = slices.Clone(some)
		for i := range some {
			some[i].Path = url.PathEscape(filepath.Join(f.root, some[i].Path))
		}
		f.past.calls.write(f.past.o.Dir, callLine{Applied: some, Agent: a, At: now()})
	}
}

// Replaced takes a state of the folder before a command's changes are applied to some paths, where what is there is neither what
// the last state says nor what the agent put there: the state keeps it, and notes whose it was.
func (f *PastFolder) Replaced(ctx context.Context, a id.Agent, paths []string) error {
	if _, err := f.past.calls.read(); err != nil {
		return err
	}
	for _, p := range paths {
		at := filepath.Join(f.root, p)
		is, err := lookAt(at)
		if err != nil {
			continue
		}
		f.mu.Lock()
		known := f.index.holds(p, is)
		f.mu.Unlock()
		if known || f.past.calls.applier(at, is.Ctime, false, false) == a {
			continue
		}
		if content, err := os.ReadFile(at); err == nil && f.past.calls.author(at, chain.Sum(content)) == a {
			continue
		}
		_, err = f.Take(ctx, nil)
		return err
	}
	return nil
}

// applier returns the agent whose command made the last change of a path, at a time on the clock of its file system: of a file
// exactly then, of what is gone or a folder at the latest then.
func (c *calls) applier(path string, at int64, gone, folder bool) id.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.laid[url.PathEscape(path)]; ok && l.Removed == gone && (l.At == at || (gone || folder) && at <= l.At) {
		return l.agent
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if l, ok := c.laid[url.PathEscape(dir)]; ok && l.Whole && !gone && at <= l.At {
			return l.agent
		}
	}
	return ""
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
	if err := c.lines.read(func() { c.spans, c.wrote, c.laid = nil, nil, nil }, c.take); err != nil {
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
	for _, change := range l.Applied {
		if c.laid == nil {
			c.laid = map[string]applied{}
		}
		c.laid[change.Path] = applied{l.Agent, change}
	}
	if l.Exact {
		for i := len(c.spans) - 1; i >= 0; i-- {
			if s := &c.spans[i]; s.Agent == l.Agent && s.To == 0 && (inside(l.Root, s.Root) || inside(s.Root, l.Root)) {
				s.exact = true
				break
			}
		}
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
		if s.exact || at < s.From-int64(slack) || s.To != 0 && at > s.To || !inside(s.Root, root) && !inside(root, s.Root) {
			continue
		}
		if one != "" && one != s.Agent {
			return ""
		}
		one = s.Agent
	}
	return one
}

// authors returns whose changes of the folder are. own has the paths that a restore changed which is
// just done, and whose it is; when tells when a path changed.
//
// A restore that is under way, the tools of ours that write files, and commands that have an overlay say what they write: a
// change that leads to just that is theirs for sure. While such a command runs, no other change is its agent's. Of what changed while a call of one agent was running
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
		if a := f.past.calls.applier(path, at, c.After == nil, c.After != nil && c.After.Kind == Dir); a != "" {
			return author{a, true}
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

// jsonLines is a file of JSON values, one a line, to which processes append: values are short, and so are written whole.
type jsonLines struct {
	path   string
	info   os.FileInfo // of the file that was read
	offset int64       // how far it was read
}

// append adds a value.
func (l *jsonLines) append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := durable.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(text, '\n'))
	return durable.Failure("write", l.path, err)
}

// read calls take with each line that was added since the last time. again is called first if the file is another one now, so
// that all of it is read. A line without an end is not written yet.
func (l *jsonLines) read(again func(), take func(line []byte)) error {
	f, err := durable.OpenFile(l.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return durable.Failure("read", l.path, err)
	}
	if l.info == nil || !os.SameFile(l.info, info) || info.Size() < l.offset {
		l.offset = 0
		again()
	}
	l.info = info
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return durable.Failure("read", l.path, err)
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		l.offset += int64(len(line))
		take(line)
	}
}
