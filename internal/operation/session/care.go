package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/files/worktree"
)

// Sweep says which states of files stay.
type Sweep struct {
	Since time.Time // those that are as new
	Most  int64     // bytes; 0: any number
	Plan  bool      // only say what would be dropped
}

// SweptFiles counts the states that were dropped, or would be.
type SweptFiles struct {
	files.Swept
	Disk int64 // what all of it took before
}

// youngFor is the minimum age at which contents that no entry names are dropped.
const youngFor = time.Hour

// GCFiles drops old states of files.
func (w Care) GCFiles(ctx context.Context, s Sweep) (SweptFiles, error) {
	if err := w.ws.person(ctx, "drop states of files"); err != nil && !s.Plan {
		return SweptFiles{}, err
	}
	named, err := w.namedStates(ctx)
	if err != nil {
		return SweptFiles{}, err
	}
	var out SweptFiles
	if out.Disk, err = w.ws.Files().Past().Disk(); err != nil {
		return out, err
	}
	out.Swept, err = w.ws.Files().Past().GC(ctx, named, files.PastLimits{Since: s.Since, Most: s.Most, Young: time.Now().Add(-youngFor)}, s.Plan)
	return out, err
}

// namedStates are the states that histories name; the newest of each agent is pinned.
func (w Care) namedStates(ctx context.Context) ([]files.Named, error) {
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		return nil, err
	}
	var out []files.Named
	for _, a := range all {
		states, err := history.States(ctx, w.ws.Store, a.ID)
		if err != nil {
			return nil, err
		}
		newest := -1
		for _, s := range states {
			root, err := chain.ParseHash(s.Root)
			if err != nil {
				continue // it tells none
			}
			out = append(out, files.Named{Root: root, At: s.CreatedAt})
			newest = len(out) - 1
		}
		if newest >= 0 && a.Status == agent.Running {
			out[newest].Pinned = true
		}
	}
	return out, nil
}

// DiskPlace is a file or folder of the workspace.
type DiskPlace struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Bytes int64  `json:"bytes"`
}

// Disks lists what takes space.
func (w Care) Disks() ([]DiskPlace, error) {
	name := config.WorkspaceName(w.ws.Place.Project)
	places := []DiskPlace{
		{What: "states of files", Where: StatesFolder(w.ws.Home, w.ws.Place)},
		{What: "worktrees", Where: worktree.Folder(w.ws.Home, name)},
		{What: "runs", Where: filepath.Join(w.ws.Place.Project, ".ramet", "runs")},
		{What: "outputs of tools", Where: w.Outputs()},
		{What: "caches of commands", Where: filepath.Join(w.ws.Home, "cache", "confined", name)},
		{What: "quarantine", Where: filepath.Join(w.ws.Home, "quarantine")},
	}
	for _, place := range w.trashPlaces() {
		places = append(places, DiskPlace{What: "trash", Where: place})
	}
	if !strings.Contains(w.ws.Place.DB, "://") {
		places = append([]DiskPlace{{What: "database", Where: w.ws.Place.DB}}, places...)
	}
	for i := range places {
		var err error
		if places[i].Where == StatesFolder(w.ws.Home, w.ws.Place) { // the trash is in it
			if places[i].Bytes, err = w.ws.Files().Past().Disk(); err != nil {
				return nil, err
			}
			continue
		}
		if places[i].Bytes, err = sizeOf(places[i].Where); err != nil {
			return nil, err
		}
	}
	return places, nil
}

func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is not there, or not ours
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return total, err
}

// Outputs returns the folder of answers of tools that are too long for a conversation.
func (w Care) Outputs() string {
	return filepath.Join(w.ws.Home, "outputs", config.WorkspaceName(w.ws.Place.Project))
}

// forgetBeside drops what lies beside the history of a message: the files of outputs that answers
// of tools name, which hold all of what they show in part, and prompts that terminals would offer
// again. It comes before the message itself is redacted: who dies in between begins again, and
// afterwards nobody knows what it was.
func (w Care) forgetBeside(ctx context.Context, e history.Entry) error {
	parts, err := e.Parts()
	if err != nil {
		return nil // it is damaged, and can be deleted all the same
	}
	if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return w.ws.Store.Blob(ctx, h) }); err != nil {
		return err
	}
	var said strings.Builder
	for _, p := range parts {
		said.WriteString(p.Text)
		said.Write(p.Memo)
	}
	switch {
	case e.Kind == history.ToolResult:
		return w.forgetOutputs(e.ID, said.String())
	case e.Kind != history.Assistant && w.ws.unsay != nil:
		return w.ws.unsay(w.ws, said.String())
	}
	return nil
}

// forgetOutputs removes the outputs that a message names.
func (w Care) forgetOutputs(m id.Message, said string) error {
	there, err := os.ReadDir(w.Outputs())
	if err != nil {
		return nil // nothing is kept
	}
	for _, f := range there {
		if !strings.Contains(said, f.Name()) {
			continue
		}
		if err := step.Remove(filepath.Join(w.Outputs(), f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the output that message %d names: %w", m, err)
		}
	}
	return nil
}

// forgetFiles drops the contents that a state brought, when its entry is redacted; of a
// message, those of the state that followed it.
func (w Care) forgetFiles(ctx context.Context, m id.Message) error {
	e, err := w.ws.Store.Entry(ctx, m)
	if err != nil {
		return err
	}
	var of *history.Stated
	for s, err := range w.ws.Store.QueryRange(ctx, history.Range{Agent: e.Agent, Start: m - 1}, history.Selection{}) {
		if err != nil {
			return err
		}
		if s.ID > m && s.Kind == history.Assistant {
			break // what follows is another step
		}
		if s.Kind == history.Files {
			meta, err := s.Decode()
			if err != nil {
				return err
			}
			of = &history.Stated{State: *meta.Files, Entry: s}
			break
		}
	}
	if of == nil || of.Root == "" || e.Kind != history.Files && of.When != history.AfterCalls {
		return nil
	}
	after, err := chain.ParseHash(of.Root)
	if err != nil {
		return nil
	}
	before, _, err := history.StateBefore(ctx, w.ws.Store, e.Agent, of.ID)
	if err != nil {
		return err
	}
	from, _ := chain.ParseHash(before.Root)
	changes, err := files.Diff(w.ws.Files().Past().Store(), from, after)
	if err != nil {
		return nil // the state is not kept here any more
	}
	gone := map[chain.Hash]bool{}
	for _, c := range changes {
		if c.After != nil && (c.After.Kind == files.File || c.After.Kind == files.Link) {
			gone[c.After.Hash] = true
		}
	}
	_, err = w.ws.Files().Past().Forget(ctx, gone)
	return err
}

// redactFiles drops the contents that a state brought, and records that.
func (w Care) redactFiles(ctx context.Context, a agent.Agent, m id.Message) error {
	note, err := history.Say(history.Note, fmt.Sprintf("the contents of files that the state %d brought are redacted", m))
	if err != nil {
		return err
	}
	if _, err := w.ws.History().write(ctx, a, note); err != nil {
		return err
	}
	return w.forgetFiles(ctx, m)
}
