package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
)

// RestoreStep is one path that is to change; nil is nothing there. Of folders only kind and mode
// count.
type RestoreStep struct {
	Path   string `json:"path"`
	Before *Node  `json:"before,omitempty"` // as it is
	After  *Node  `json:"after,omitempty"`  // as it shall be
	// Trash is the number of the item in the trash that Before becomes; 0: none, because it can
	// be brought back.
	Trash int `json:"trash,omitempty"`
}

// RestoreLeft is a path that is kept as it is, and why.
type RestoreLeft struct {
	Path string
	Why  string
}

// The reasons of Left.
const (
	Foreign  = "others could have changed it"
	Running  = "changed while a command was running" // of the agent; a person may have changed it too
	Unkept   = "its content was not kept"
	Unknown  = "its content is not known"
	Unseen   = "whether it was there is not known"
	Special  = "it is not a file, folder or link"
	Nested   = "it belongs to another repository"
	Moved    = "it changed meanwhile"
	Occupied = "something in its way is kept"
	Twin     = "another name differs from it in case only"
)

// RestorePlan lists what a restore would do. Its JSON is what the journal has of it.
type RestorePlan struct {
	Root  string        `json:"root"`            // the folder
	Agent id.Agent      `json:"agent,omitempty"` // whose restore it is; empty: no agent's
	From  chain.Hash    `json:"from"`
	To    chain.Hash    `json:"to"`
	Steps []RestoreStep `json:"steps"`
	Kept  []RestoreLeft `json:"-"`
	// Beside is another folder that may have the same files at the same paths: they are cloned
	// from there, or copied where they were not kept. Empty: there is none.
	Beside string `json:"-"`
	// Verb says in the trash which act moved something there.
	Verb  string `json:"-"`
	Trash string `json:"trash,omitempty"` // the act in the trash; empty: there is none
	Room  int64  `json:"-"`               // bytes that it needs on the disk; 0: unknown
	// Note says in JSON for whom this is, so that the process that finishes it can tell them.
	Note json.RawMessage `json:"note,omitempty"`
}

// RestoreWish selects the files to restore.
type RestoreWish struct {
	Root     string
	From, To chain.Hash // as it is; as it shall be
	Paths    []string   // and what is below them; none: all
	Partial  bool       // the state does not hold everything: nothing is removed
	// Keep returns why a path is to be kept, or nothing: others could have changed it. nil: none is.
	Keep  func(path string) string
	Force bool // do not ask Keep
	// LeftOut says of a path that To does not have that it was left out, as ignored; nil: none was.
	LeftOut func(path string, dir bool) bool
	// Has reports whether a content can be had.
	Has func(chain.Hash) bool
}

// MakePlan makes the plan.
func MakePlan(src Source, w RestoreWish) (RestorePlan, error) {
	p := RestorePlan{Root: w.Root, From: w.From, To: w.To}
	changes, err := Diff(src, w.From, w.To)
	if err != nil {
		return p, err
	}
	var closed []string // what was below these then is unknown
	for _, c := range changes {
		if c.After != nil && c.After.Closed() {
			closed = append(closed, c.Path)
		}
		if !Within(c.Path, w.Paths) {
			continue
		}
		if c.After == nil && (len(closed) > 0 && Within(c.Path, closed) || w.LeftOut != nil && w.LeftOut(c.Path, c.Before.Kind == Dir)) {
			p.Kept = append(p.Kept, RestoreLeft{c.Path, Unseen})
			continue
		}
		if w.Partial && c.After == nil {
			continue // it is unknown whether it was there
		}
		if why := w.against(c); why != "" {
			p.Kept = append(p.Kept, RestoreLeft{c.Path, why})
			continue
		}
		p.Steps = append(p.Steps, RestoreStep{Path: c.Path, Before: c.Before, After: c.After})
	}
	return p, nil
}

// against returns why a path is kept; empty: it is not.
func (w RestoreWish) against(c Change) string {
	if c.Nested != "" {
		return Nested
	}
	for _, n := range []*Node{c.Before, c.After} {
		switch {
		case n == nil:
		case n.Kind == Repo:
			return Nested
		case n.Kind == Other:
			return Special
		case !n.Known():
			return Unknown
		}
	}
	if a := c.After; a != nil && a.Kind != Dir && !w.Has(a.Hash) {
		return Unkept
	}
	if !w.Force && w.Keep != nil {
		return w.Keep(c.Path)
	}
	return ""
}

// Restores returns the paths that would get a content, or a mode.
func (p RestorePlan) Restores() []string {
	return p.paths(func(s RestoreStep) bool { return s.After != nil && s.After.Kind != Dir })
}

// Removes returns the paths that would be removed.
func (p RestorePlan) Removes() []string {
	return p.paths(func(s RestoreStep) bool { return s.After == nil && s.Before.Kind != Dir })
}

func (p RestorePlan) paths(that func(RestoreStep) bool) []string {
	var out []string
	for _, s := range p.Steps {
		if that(s) {
			out = append(out, s.Path)
		}
	}
	return out
}

// twins returns the paths that another one differs from in case only, both to be there.
func (p RestorePlan) twins() map[string]bool {
	seen, out := map[string]string{}, map[string]bool{}
	for _, s := range p.Steps {
		if s.After == nil {
			continue
		}
		low := strings.ToLower(s.Path)
		if other, ok := seen[low]; ok {
			out[s.Path], out[other] = true, true
		}
		seen[low] = s.Path
	}
	return out
}

// RestoreWant is a path as it shall be; nil: nothing there.
type RestoreWant struct {
	Path string
	Node *Node
}

// LayFiles makes a plan of what is wanted, whatever stands there now: for a folder that nothing
// uses yet.
func LayFiles(root string, wants []RestoreWant) (RestorePlan, error) {
	p := RestorePlan{Root: root}
	dir, err := step.OpenRoot(root)
	if err != nil {
		return p, durable.Failure("open", root, err)
	}
	defer dir.Close()
	w := &work{root: dir}
	for _, want := range wants {
		now, err := w.at(want.Path)
		if err != nil {
			return p, durable.Failure("look at", want.Path, err)
		}
		if !same(now, want.Node) {
			p.Steps = append(p.Steps, RestoreStep{Path: want.Path, Before: now, After: want.Node})
		}
	}
	return p, nil
}

// at returns what stands at a path; nil: nothing.
func (w *work) at(p string) (*Node, error) {
	dir, close, err := w.enter(path.Dir(p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer close()
	return look(dir, path.Base(p))
}
