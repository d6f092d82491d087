package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/files"
	"ramet/internal/operation/public"
)

// ShowTrash lists what is in the trash of the workspace.
func (w Care) ShowTrash(ctx context.Context) (public.Trash, error) {
	out := public.Trash{Items: []public.TrashItem{}}
	if err := w.ws.person(ctx, "list the trash"); err != nil {
		return out, err
	}
	all, err := w.ws.Files().Past().Trash().List()
	for _, e := range all {
		out.Items = append(out.Items, formatTrashItem(e))
		out.Bytes += e.Size
	}
	return out, err
}

func formatTrashItem(e files.TrashEntry) public.TrashItem {
	kind := map[files.Kind]string{files.Link: "link", files.Dir: "folder"}[e.Kind]
	switch {
	case e.Tree != nil:
		kind = "worktree"
	case kind == "":
		kind = "file"
	}
	return public.TrashItem{ID: e.Name(), Path: escapePath(e.Original()), RawPath: public.RawName(e.Original()), Kind: kind, Size: e.Size,
		At: public.Stamp(e.At), Act: e.Verb, Agent: public.Optional(string(e.Agent))}
}

// RestoreTrash moves items of the trash back to where they were, or one of them to another path.
// name is an item, an act, or a path. It overwrites nothing: CONFLICT.
func (w Care) RestoreTrash(ctx context.Context, name, to string) (public.TrashRestores, error) {
	out := public.TrashRestores{Restored: []public.TrashRestored{}}
	if err := w.ws.person(ctx, "restore from the trash"); err != nil {
		return out, err
	}
	found, err := w.ws.Files().Past().Trash().Find(name)
	if err != nil {
		return out, err
	}
	if to != "" && len(found) > 1 {
		return out, fault.New(fault.Usage, "%s is %d items, and --to names one path", name, len(found)).WithHint("restore them one by one: %s", found[0].Name())
	}
	for _, e := range found {
		at, err := w.restoreEntry(ctx, e, to)
		if err != nil {
			return out, err
		}
		out.Restored = append(out.Restored, public.TrashRestored{ID: e.Name(), To: at})
	}
	return out, nil
}

func (w Care) restoreEntry(ctx context.Context, e files.TrashEntry, to string) (string, error) {
	if e.Tree == nil {
		return w.ws.Files().Past().Trash().Restore(e, to)
	}
	k, _, err := w.ws.Trees.Keeper(ctx)
	if err != nil {
		return to, err
	}
	return k.Return(ctx, e, to)
}

// Emptying chooses the items to delete from the trash. The zero value means all.
type Emptying struct {
	Before time.Time // what was moved before; zero: whenever
	Over   int64     // what is larger than that many bytes
	Plan   bool      // only say what would be deleted
}

// EmptyTrash deletes items of the trash for good.
func (w Care) EmptyTrash(ctx context.Context, e Emptying) (public.TrashEmptied, error) {
	out := public.TrashEmptied{Plan: e.Plan, Items: []public.TrashItem{}}
	if err := w.ws.person(ctx, "empty the trash"); err != nil {
		return out, err
	}
	if _, err := w.ws.Files().RecoverFiles(ctx); err != nil { // it may be about to move something there
		return out, err
	}
	all, err := w.ws.Files().Past().Trash().List()
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(one files.TrashEntry) bool {
		return !e.Before.IsZero() && !one.At.Before(e.Before) || one.Size <= e.Over && e.Over > 0
	})
	var failed error
	for _, one := range all {
		if !e.Plan {
			if err := w.ws.Files().Past().Trash().Delete(one); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
		}
		out.Items = append(out.Items, formatTrashItem(one))
		out.Bytes += one.Size
	}
	if !e.Plan {
		failed = errors.Join(failed, w.ws.Files().Past().Trash().Prune(w.ws.Now()))
	}
	return out, failed
}

// trashPlaces lists the folders that hold what is in the trash.
func (w Care) trashPlaces() []string {
	return []string{filepath.Join(w.ws.Files().Past().Trash().Dir, "items"), files.TrashInProject(w.ws.Place.Project)}
}
