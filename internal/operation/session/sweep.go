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

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/operation/public"
)

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
// What is not committed, or merged nowhere, stays; and so does one in which somebody works.
func (w Care) SweepTrees(ctx context.Context, plan bool) (public.SweptPart, error) {
	out := newPart("worktrees", "their agents ended, and all that is in them is committed and merged; what git does not have goes to the trash")
	if err := w.ws.person(ctx, "remove worktrees"); err != nil && !plan {
		return out, err
	}
	trees, err := w.ws.Trees.List(ctx)
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
		size, err := sizeOf(t.Dir)
		if err != nil {
			return out, err
		}
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
		size, newest := weighFolder(dir)
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

// weighFolder returns the size of a folder, and the time of its last change; zero: there is none.
func weighFolder(dir string) (size int64, newest time.Time) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is not there, or not ours
		}
		if info, err := e.Info(); err == nil {
			if info.Mode().IsRegular() {
				size += info.Size()
			}
			if info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
		return nil
	})
	return size, newest
}

// clearFolder removes a folder with what is in it, also where programs made folders that nobody may
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
