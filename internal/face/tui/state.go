package tui

import (
	"encoding/json"
	"errors"
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
