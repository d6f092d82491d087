package session

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/operation/public"
)

// mostDiffed limits the bytes that are compared line by line.
const mostDiffed = 1 << 20

// DiffFiles compares the files of an agent at two messages. Without the second: with what they
// are now; without both: what they are now with what they were before its last turn.
func (w Files) DiffFiles(ctx context.Context, a agent.Agent, from, to id.Message) ([]public.FileChange, error) {
	before, err := w.target(ctx, Restoring{Agent: a, At: from, Last: from == 0})
	if err != nil {
		return nil, err
	}
	was, err := w.stateHash(before.State)
	if err != nil {
		return nil, err
	}
	var is chain.Hash
	if to == 0 {
		is, err = w.nowHash(ctx, a, before.State)
	} else {
		var after history.Stated
		if after, err = w.StateAt(ctx, a, to); err == nil {
			is, err = w.stateHash(after.State)
		}
	}
	if err != nil {
		return nil, err
	}
	return w.diff(ctx, was, is)
}

// DiffState shows what a state of an agent's lineage changed, by the id of its entry.
func (w Files) DiffState(ctx context.Context, a agent.Agent, entry id.Message) ([]public.FileChange, error) {
	if err := history.Lookup(ctx, w.ws.Store, a.ID, entry); err != nil {
		return nil, err
	}
	e, err := w.ws.Store.Entry(ctx, entry)
	if err != nil {
		return nil, err
	}
	m, err := e.Decode()
	if err != nil {
		return nil, err
	}
	if m.Files == nil {
		return nil, fault.New(fault.NotFound, "message %d of agent %s is not a state of files", entry, a.Label()).
			WithHint("`ramet files %s --states` lists them", a.Label())
	}
	before, ok, err := history.StateBefore(ctx, w.ws.Store, e.Agent, entry)
	if err != nil || m.Files.Root == "" {
		return nil, err
	}
	is, err := w.stateHash(*m.Files)
	if err != nil || !ok || before.Root == "" { // with nothing before, nothing changed
		return nil, err
	}
	was, err := w.stateHash(before.State)
	if err != nil {
		return nil, err
	}
	return w.diff(ctx, was, is)
}

// nowHash is the state of a folder as it is.
func (w Files) nowHash(ctx context.Context, a agent.Agent, s history.State) (chain.Hash, error) {
	f, err := w.folderOf(a, s)
	if err != nil {
		return chain.Hash{}, err
	}
	defer f.Save()
	if _, err := w.RecoverFiles(ctx); err != nil { // what is half restored is nobody's change
		return chain.Hash{}, err
	}
	now, err := f.Take(ctx, nil)
	return now.Root, err
}

func (w Files) diff(ctx context.Context, was, is chain.Hash) ([]public.FileChange, error) {
	changes, err := files.Diff(w.Past().Store(), was, is)
	if err != nil {
		return nil, err
	}
	var out []public.FileChange
	for _, c := range changes {
		if dir := func(n *files.Node) bool { return n == nil || n.Kind == files.Dir }; dir(c.Before) && dir(c.After) {
			continue
		}
		one := public.FileChange{Path: escapePath(c.Path), RawPath: public.RawName(c.Path), Verb: c.Verb()}
		if one.Diff, one.Note, err = w.compare(ctx, c); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// compare shows what changed in a file, or says why not.
func (w Files) compare(ctx context.Context, c files.Change) (diff, note string, err error) {
	var content [2]string
	name := [2]string{"a/" + text.Name(c.Path), "b/" + text.Name(c.Path)}
	for i, n := range []*files.Node{c.Before, c.After} {
		switch {
		case n == nil || n.Kind == files.Dir:
			name[i] = "/dev/null"
			continue
		case c.Nested != "" || n.Kind == files.Repo:
			return "", files.Nested, nil
		case n.Kind == files.Other:
			return "", "no file", nil
		case !n.Known():
			return "", "the content is not known", nil
		case n.Size > mostDiffed:
			return "", fmt.Sprintf("%d bytes", n.Size), nil
		}
		kept, err := w.Past().Store().Get(ctx, n.Hash)
		if fault.Is(err, fault.NotFound) {
			return "", "the content was not kept", nil
		}
		if err != nil {
			return "", "", err
		}
		if bytes.IndexByte(kept, 0) >= 0 || !utf8.Valid(kept) {
			return "", fmt.Sprintf("no text, %d bytes", n.Size), nil
		}
		content[i] = string(kept)
	}
	if b, a := c.Before, c.After; b != nil && a != nil && b.Mode != a.Mode {
		note = fmt.Sprintf("mode %v → %v", formatMode(b), formatMode(a))
	}
	return udiff.Unified(name[0], name[1], content[0], content[1]), note, nil
}

// formatMode returns the permissions as ls shows them.
func formatMode(n *files.Node) fs.FileMode {
	switch n.Kind {
	case files.Link:
		return fs.ModeSymlink | 0o777
	case files.Dir:
		return fs.ModeDir | n.Perm()
	}
	return n.Perm()
}

// What faces show of states, as docs/json.md has it.

var kindNames = map[files.Kind]string{files.File: "file", files.Link: "link", files.Dir: "folder", files.Repo: "repository", files.Other: "other"}

// escapePath returns a path as text, with marks in place of invalid UTF-8.
func escapePath(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

// ShowFiles returns a state with all its files.
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
