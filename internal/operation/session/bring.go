package session

import (
	"context"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/files/git"
	"ramet/internal/files/worktree"
)

// origin describes the files that a new worktree gets.
type origin struct {
	Folder string // of the parent
	Clean  bool   // as committed
	// State holds the files at a message; nil: as they are now in the folder.
	State *history.Stated
}

// makeTree makes the worktree of a child that is to be born, with its parent's files.
func (t Trees) makeTree(ctx context.Context, k worktree.Keeper, o origin, child id.Agent, name string) (worktree.Tree, error) {
	commit := ""
	if o.State != nil {
		commit = o.State.Head
	}
	tree, err := k.MakeAt(ctx, o.Folder, child, name, commit)
	if err != nil || o.Clean || o.State == nil && !t.w.Files().takesStates(o.Folder) {
		return tree, err
	}
	done, err := t.w.Files().bring(ctx, o, tree)
	if err == nil {
		err = k.NoteBrought(ctx, tree, done.Changed)
	}
	if err != nil {
		if left := t.unmake(ctx, o.Folder, tree); left != nil {
			err = fault.New(fault.CodeOf(err), "%w; and the worktree %s is left: %v", err, tree.Dir, left)
		}
		return worktree.Tree{}, err
	}
	tree.Left, tree.Missing = len(done.Kept) > 0, nil
	for _, left := range done.Kept {
		tree.Missing = append(tree.Missing, left.Path)
	}
	tree.Brought = len(done.Changed)
	return tree, nil
}

// takesStates reports whether states are recorded for a folder.
func (w Files) takesStates(folder string) bool {
	if w.ws.Config.Files == "no" || w.ws.Place.DB == "" { // no place is set
		return false
	}
	_, err := w.Past().Folder(folder)
	return err == nil
}

// bring makes a fresh worktree what its parent's files are, or were. Only what differs from
// the commit is touched.
func (w Files) bring(ctx context.Context, o origin, tree worktree.Tree) (files.RestoreDone, error) {
	s := files.PastState{}
	if o.State != nil {
		root, err := w.stateHash(o.State.State)
		if err != nil {
			return files.RestoreDone{}, err
		}
		s = files.PastState{Root: root, Partial: o.State.Partial()}
	} else {
		f, err := w.Past().Folder(o.Folder)
		if err != nil {
			return files.RestoreDone{}, err
		}
		defer f.Save()
		if _, err := w.RecoverFiles(ctx); err != nil {
			return files.RestoreDone{}, err
		}
		now, err := f.Take(ctx, nil)
		if err != nil {
			return files.RestoreDone{}, err
		}
		s = files.PastState{Root: now.Root, Partial: now.Partial()}
	}
	if s.Root == (chain.Hash{}) {
		return files.RestoreDone{}, nil
	}
	have, err := readCommitted(ctx, tree.Cwd)
	if err != nil {
		return files.RestoreDone{}, err
	}
	done, err := w.Past().Bring(ctx, o.Folder, tree.Cwd, s, have)
	if err == nil && len(done.Kept) > 0 && o.State != nil {
		err = fault.New(fault.NotFound, "%s of that state cannot be had any more, such as %s: %s", text.Count(len(done.Kept), "file"),
			text.Line(done.Kept[0].Path, 200), done.Kept[0].Why)
	}
	return done, err
}

// readCommitted returns the files of the commit that is checked out in a folder.
func readCommitted(ctx context.Context, dir string) (map[string]files.Committed, error) {
	out, err := git.Run(ctx, dir, "ls-tree", "-r", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	have := map[string]files.Committed{}
	for _, entry := range git.Fields(out) {
		head, name, _ := strings.Cut(entry, "\t")
		f := strings.Fields(head) // mode, type, id
		if len(f) != 3 || f[1] != "blob" {
			continue
		}
		have[name] = files.Committed{Oid: f[2], Exec: f[0] == "100755", Link: f[0] == "120000"}
	}
	return have, nil
}
