package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/files/worktree"
	"ramet/internal/operation/public"
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
	out := SweptFiles{Disk: w.ws.Files().Past().Disk()}
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
func (w Care) Disks() []DiskPlace {
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
		if places[i].Where == StatesFolder(w.ws.Home, w.ws.Place) { // the trash is in it
			places[i].Bytes = w.ws.Files().Past().Disk()
			continue
		}
		places[i].Bytes, _ = files.FolderSize(places[i].Where, "")
	}
	return places
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
	case e.Kind != history.Assistant && w.ws.system.Unsay != nil:
		return w.ws.system.Unsay(w.ws, said.String())
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
	note, err := history.Say(history.Note, fmt.Sprintf("the contents of files in the state %d are redacted", m))
	if err != nil {
		return err
	}
	if _, err := w.ws.History().write(ctx, a, note); err != nil {
		return err
	}
	return w.forgetFiles(ctx, m)
}

// SweepBlobs drops the contents that no message names.
func (w Care) SweepBlobs(ctx context.Context, plan bool) (public.SweptPart, error) {
	out := newPart("blobs", "no message names them")
	sweep := w.ws.Store.GC
	if plan {
		sweep = w.ws.Store.PlanGC
	}
	gone, err := sweep(ctx)
	out.Count, out.Bytes = int(gone.Blobs), gone.Bytes
	return out, err
}

// SweepStates drops old states of files.
func (w Care) SweepStates(ctx context.Context, s Sweep) (public.SweptPart, error) {
	out := newPart("states", fmt.Sprintf("older than %s, or over %d bytes together", s.Since.UTC().Format(time.DateOnly), s.Most))
	gone, err := w.GCFiles(ctx, s)
	out.Count, out.Bytes = gone.States, gone.Bytes
	return out, err
}

func newPart(what, why string) public.SweptPart {
	return public.SweptPart{What: what, Why: why, Kept: []public.Kept{}}
}

// SweepTrees removes the worktrees of agents that ended, and of children that were never born.
// What is not committed, or merged nowhere, stays; and so does one in which an agent works.
func (w Care) SweepTrees(ctx context.Context, plan bool) (public.SweptPart, error) {
	out := newPart("worktrees", "their agents ended, and all that is in them is committed and merged; what git does not have goes to the trash")
	if err := w.ws.person(ctx, "remove worktrees"); err != nil && !plan {
		return out, err
	}
	trees, err := w.ws.Trees().List(ctx)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
		return out, nil // no repository, and so none of its worktrees
	}
	if err != nil {
		return out, err
	}
	living, err := w.ws.Store.Agents(ctx, agent.Filter{})
	if err != nil {
		return out, err
	}
	for _, t := range trees {
		if t.Owner != nil && t.Owner.Status != agent.Dead {
			continue
		}
		size, _ := files.FolderSize(t.Dir, "")
		if why := t.stays(ctx, living, w.ws.Now()); why != "" {
			out.Kept = append(out.Kept, public.Kept{Path: t.Dir, Why: why})
			continue
		}
		trashed, err := t.keep.HoldsMore(ctx, t.Tree, t.Home)
		if err == nil && !plan {
			_, err = t.remove(ctx, false)
		}
		if err != nil {
			out.Kept = append(out.Kept, public.Kept{Path: t.Dir, Why: t.refusal(err)})
			continue
		}
		out.Count++
		if !trashed { // else it takes as much in the trash
			out.Bytes += size
		}
	}
	return out, nil
}

// stays returns the reason why a worktree of a dead agent is kept; empty: it is not.
func (t Tree) stays(ctx context.Context, all []agent.Agent, now time.Time) string {
	for _, a := range all {
		if a.Status == agent.Running && (a.Cwd == t.Dir || strings.HasPrefix(a.Cwd, t.Dir+"/")) {
			return a.Label() + " works there"
		}
	}
	if info, err := os.Stat(t.Dir); t.Owner == nil && err == nil && now.Sub(info.ModTime()) < youngFor {
		return "its agent may be about to be born"
	}
	if err := t.keep.Spare(ctx, t.in, t.Tree, t.Home); err != nil {
		return t.refusal(err)
	}
	return ""
}

// refusal describes the worktree, and why it is not removed.
func (t Tree) refusal(err error) string {
	why := err.Error()
	if f, ok := fault.Of(err); ok {
		why = f.Message
	}
	return t.Label() + ": it " + text.Line(strings.TrimPrefix(why, t.Dir+" "), 300)
}

// SweepCaches drops answers of models that were kept for runs and are older than a moment, and
// what commands and servers cached, if nothing of it changed since.
func (w Care) SweepCaches(ctx context.Context, since time.Time, plan bool) (public.SweptPart, error) {
	out := newPart("caches", "not used since "+since.UTC().Format(time.DateOnly)+"; they are made again when needed")
	if err := w.ws.person(ctx, "drop caches"); err != nil && !plan {
		return out, err
	}
	answers, err := filepath.Glob(filepath.Join(w.ws.Home, "cache", "llm", "*.json"))
	if err != nil {
		return out, err
	}
	for _, name := range answers {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(since) {
			continue
		}
		if !plan {
			if err := step.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return out, durable.Failure("remove", name, err)
			}
		}
		out.Count++
		out.Bytes += info.Size()
	}
	servers, err := filepath.Glob(filepath.Join(w.ws.Home, "cache", "mcp", "*"))
	if err != nil {
		return out, err
	}
	for _, dir := range append(servers, filepath.Join(w.ws.Home, "cache", "confined", config.WorkspaceName(w.ws.Place.Project))) {
		size, newest := files.FolderSize(dir, "")
		if newest.IsZero() || !newest.Before(since) {
			continue
		}
		if !plan {
			if err := clearFolder(dir); err != nil {
				return out, err
			}
		}
		out.Count++
		out.Bytes += size
	}
	return out, nil
}

// clearFolder removes a folder with what is in it, also where programs made folders that no user may
// write to.
func clearFolder(dir string) error {
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			step.Chmod(p, 0o700)
		}
		return nil
	})
	return durable.Failure("remove", dir, step.RemoveAll(dir))
}

// SweepRun takes away the evidence of a run that ended, and with artifacts every file that its
// log names. The log says so.
func (w Care) SweepRun(ctx context.Context, runID string, artifacts, plan bool) (public.SweptPart, error) {
	what := map[bool]string{false: "evidence", true: "artifacts"}[artifacts]
	out := newPart(what, "you named run "+runID+"; its log says that they were removed")
	runs, err := w.ws.RunStore()
	if err != nil {
		return out, err
	}
	r, err := runs.Open(ctx, runID, "")
	if err != nil {
		return out, err
	}
	found, err := r.Removable(ctx, artifacts)
	if err := errors.Join(err, r.Close()); err != nil {
		return out, err
	}
	var paths []string
	for _, f := range found {
		paths = append(paths, f.Path)
		out.Bytes += f.Bytes
	}
	out.Count = len(paths)
	if plan || len(paths) == 0 {
		return out, nil
	}
	x, err := runs.OpenSession(ctx, runID, "")
	if err != nil {
		return out, err
	}
	return out, errors.Join(x.Remove(ctx, paths, "gc --"+what), x.Close())
}

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
	k, _, err := w.ws.Trees().Keeper(ctx)
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
