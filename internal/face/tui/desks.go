package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// mostDesks is how many terminals on one workspace keep what is typed in them.
const mostDesks = 32

// desk is the file where one terminal keeps drafts and places. A second terminal on the same
// workspace has a file of its own, so that neither overwrites what is typed in the other; what
// it left behind the next one finds that sits down alone.
type desk struct {
	path string // empty: nothing is kept
	held *durable.Held
	said []string // the prompts that the file held when this terminal last knew
}

// heed is what is gone from the file of the prompts that it held: they were redacted meanwhile.
func (d desk) heed() (gone map[string]bool) {
	there, ok := reread(d.path)
	if !ok {
		return nil
	}
	gone = map[string]bool{}
	for _, prompt := range d.said {
		gone[prompt] = true
	}
	for _, prompt := range there.Said {
		delete(gone, prompt)
	}
	return gone
}

// unsay drops prompts; the list that others may hold stays as it is.
func (m *memory) unsay(gone map[string]bool) {
	if len(gone) > 0 {
		m.Said = slices.DeleteFunc(slices.Clone(m.Said), func(prompt string) bool { return gone[prompt] })
	}
}

// sit takes the first desk that is free, and what was left on the others that are.
func sit(path string) (desk, memory) {
	if path == "" {
		return desk{}, recall("")
	}
	d := desk{}
	for n := range mostDesks {
		at := deskPath(path, n)
		held, err := durable.TryLock(at + ".lock")
		if err != nil && n == 0 && !fault.Is(err, fault.Locked) { // the folder is not there yet
			if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
				held, err = durable.TryLock(at + ".lock")
			}
		}
		if err == nil {
			d = desk{path: at, held: held}
			break
		}
		if !fault.Is(err, fault.Locked) {
			return desk{path: path}, recall(path) // no locks here: as if alone
		}
	}
	m := recall(d.path)
	if d.path != "" && d.path != path && len(m.Said) == 0 { // beside somebody: the same place, none of the drafts
		first := recall(path)
		m.Current, m.Tree, m.Said = first.Current, first.Tree, first.Said
	}
	d.inherit(path, &m)
	d.said = recall(d.path).Said
	return d, m
}

func deskPath(path string, n int) string {
	if n == 0 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), n+1, ext)
}

// inherit takes what terminals left that are gone.
func (d desk) inherit(path string, m *memory) {
	if d.held == nil {
		return
	}
	for n := 1; n < mostDesks; n++ {
		at := deskPath(path, n)
		if at == d.path {
			continue
		}
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		held, err := durable.TryLock(at + ".lock")
		if err != nil {
			continue // somebody sits there
		}
		m.adopt(recall(at))
		if keep(d.path, *m) == nil { // it exists twice for a moment, and never not at all
			os.Remove(at)
		}
		held.Unlock()
	}
}

// adopt takes over what another terminal kept. Of two drafts for one agent ours stays, and theirs
// is among the former prompts.
func (m *memory) adopt(other memory) {
	for a, theirs := range other.Agents {
		ours, ok := m.Agents[a]
		if !ok {
			m.Agents[a] = theirs
			continue
		}
		switch {
		case theirs.Draft == nil:
		case ours.Draft == nil:
			ours.Draft = theirs.Draft
		case written(ours.Draft) != written(theirs.Draft):
			m.remember(written(theirs.Draft))
		}
		ours.Queue = append(ours.Queue, theirs.Queue...)
		m.Agents[a] = ours
	}
}

func written(d *EditorState) string {
	var out strings.Builder
	for _, p := range d.Parts {
		out.WriteString(p.Text + p.Paste)
	}
	return out.String()
}

func (d desk) leave() {
	if d.held != nil {
		d.held.Unlock()
	}
}
