package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// memory is what survives the process: where the user was, and what was typed. It is
// a convenience, not a record: one that cannot be read is begun anew.
type memory struct {
	Version int                  `json:"version"`
	Current id.Agent             `json:"current,omitempty"`
	Tree    bool                 `json:"tree,omitempty"`
	Said    []string             `json:"said,omitempty"` // prompts, newest last
	Agents  map[id.Agent]desktop `json:"agents,omitempty"`
}

type desktop struct {
	Draft *EditorState    `json:"draft,omitempty"`
	Queue []string        `json:"queue,omitempty"` // typed while it worked
	Place *position       `json:"place,omitempty"` // nil: at the end
	Folds map[string]bool `json:"folds,omitempty"` // open or closed by hand
	Model string          `json:"model,omitempty"` // chosen with /model
}

func (d desktop) empty() bool {
	return d.Draft == nil && len(d.Queue) == 0 && d.Place == nil && len(d.Folds) == 0 && d.Model == ""
}

const (
	memoryVersion = 1
	maxSaid       = 200
	maxSaidBytes  = 8 << 10 // longer prompts are not kept for recall
	maxFolds      = 500
)

func recall(path string) memory {
	m, _ := reread(path)
	return m
}

// reread is recall; ok says whether there is a file that can be read.
func reread(path string) (m memory, ok bool) {
	m = memory{Version: memoryVersion, Agents: map[id.Agent]desktop{}}
	if path == "" {
		return m, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return m, false
	}
	var read memory
	if json.Unmarshal(b, &read) != nil || read.Version != memoryVersion {
		return m, false
	}
	if read.Agents == nil {
		read.Agents = map[id.Agent]desktop{}
	}
	return read, true
}

// Unsay takes the prompts out of the files of all terminals of a workspace that a message holds
// whole: it is redacted, and nobody is to be offered it again. A terminal that is open heeds that
// when it writes the next time (desk.heed).
func Unsay(path, message string) error {
	for n := range mostDesks {
		at := deskPath(path, n)
		m, ok := reread(at)
		if !ok {
			continue
		}
		said := len(m.Said)
		m.Said = slices.DeleteFunc(m.Said, func(prompt string) bool {
			words := strings.TrimSpace(strings.TrimPrefix(prompt, "!")) // as of a command of the user's
			return words != "" && strings.Contains(message, words)
		})
		if len(m.Said) == said {
			continue
		}
		if err := keep(at, m); err != nil {
			return err
		}
	}
	return nil
}

// keep writes the file; it is whole or as before.
func keep(path string, m memory) error {
	if path == "" {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fault.New(fault.StorageIO, "keep the state of the screen: %w", err)
	}
	err = durable.WriteFile(path, b, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fault.New(fault.StorageIO, "keep the state of the screen: %w", err)
		}
		err = durable.WriteFile(path, b, 0o600)
	}
	return err
}

// remember adds a prompt to those that can be recalled.
func (m *memory) remember(prompt string) {
	if len(prompt) > maxSaidBytes || prompt == "" {
		return
	}
	if n := len(m.Said); n > 0 && m.Said[n-1] == prompt {
		return
	}
	m.Said = append(m.Said, prompt)
	if len(m.Said) > maxSaid {
		m.Said = append([]string(nil), m.Said[len(m.Said)-maxSaid:]...)
	}
}

type position struct {
	Entry id.Message `json:"entry"`
	Part  int        `json:"part"`
	Line  int        `json:"line"`
}

// mostDesks limits the terminals on one workspace that keep what is typed in them.
const mostDesks = 32

// desk is the file where one terminal keeps drafts and places. A second terminal on the same
// workspace has a file of its own, so that neither overwrites what is typed in the other; what
// it left behind the next one finds that sits down alone.
type desk struct {
	path string // empty: nothing is kept
	held *durable.Held
	said []string // the prompts that the file held when this terminal last knew
}

// heed returns the prompts that are no longer in the file: they were redacted meanwhile.
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
	if d.path != "" && d.path != path && len(m.Said) == 0 { // next to another terminal: the same place, none of the drafts
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
			continue // a terminal uses it
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
