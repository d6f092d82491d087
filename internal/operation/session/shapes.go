package session

import (
	"context"
	"strings"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/operation/public"
)

// What faces show of states, as docs/json.md has it.

var kindNames = map[files.Kind]string{files.File: "file", files.Link: "link", files.Dir: "folder", files.Repo: "repository", files.Other: "other"}

// escapePath returns a path as text, with marks in place of invalid UTF-8.
func escapePath(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

// ShowFiles is a state with all its files.
func (w Files) ShowFiles(s history.Stated) (public.FileList, error) {
	out := public.FileList{FileState: public.FormatFileState(s), Files: []public.File{}}
	err := w.ListFiles(s.State, func(p string, n files.Node, has bool) error {
		one := public.File{Path: escapePath(p), RawPath: public.RawName(p), Kind: kindNames[n.Kind], Mode: formatMode(&n).String(),
			Size: n.Size, Restorable: has && n.Known()}
		if n.Known() && n.Kind != files.Repo {
			one.Hash = n.Hash.String()
		}
		out.Files = append(out.Files, one)
		return nil
	})
	return out, err
}

// ShowStates lists the own states of an agent, oldest first.
func (w Files) ShowStates(ctx context.Context, a agent.Agent) (public.FileStates, error) {
	out := public.FileStates{States: []public.FileState{}}
	all, err := history.States(ctx, w.ws.Store, a.ID)
	for _, s := range all {
		out.States = append(out.States, public.FormatFileState(s))
	}
	return out, err
}

// Show returns the public shape of a restore; plan: nothing was done.
func (r Restored) Show(plan bool) public.Restore {
	out := public.Restore{State: public.FormatFileState(r.To), Restored: []string{}, Removed: []string{}, Kept: []public.Kept{}, Trashed: []public.Trashed{}, Plan: plan}
	changed := map[string]bool{}
	for _, p := range r.Changed {
		changed[p] = true
	}
	for _, p := range r.Plan.Restores() {
		if plan || changed[p] {
			out.Restored = append(out.Restored, escapePath(p))
		}
	}
	for _, p := range r.Plan.Removes() {
		if plan || changed[p] {
			out.Removed = append(out.Removed, escapePath(p))
		}
	}
	for _, k := range r.Plan.Kept {
		out.Kept = append(out.Kept, public.Kept{Path: escapePath(k.Path), Why: k.Why})
	}
	if plan {
		for _, p := range r.Plan.Trashes() {
			out.Trashed = append(out.Trashed, public.Trashed{Path: escapePath(p)})
		}
	}
	for _, e := range r.Trashed {
		out.Trashed = append(out.Trashed, public.Trashed{Path: escapePath(e.Path), ID: e.Name()})
	}
	if r.Entry != nil {
		n := int64(r.Entry.ID)
		out.EntryID = &n
	}
	return out
}
