package operation

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// GCInput chooses what to drop. Without any choice that is the blobs.
type GCInput struct {
	Files     bool     `json:"files,omitempty" help:"states of files"`
	Worktrees bool     `json:"worktrees,omitempty" help:"worktrees of agents that have ended"`
	Caches    bool     `json:"caches,omitempty" help:"cached answers of models, and caches of commands"`
	All       bool     `json:"all,omitempty" help:"blobs, states, worktrees and caches"`
	Evidence  []string `json:"evidence,omitempty" help:"evidence of this finished run"`
	Artifacts []string `json:"artifacts,omitempty" help:"evidence and artifacts of this finished run"`
	Keep      *string  `json:"keep,omitempty" help:"keep states and caches that are newer than this age (36h, 30d) or date (default 30d)"`
	Max       *Size    `json:"max,omitempty" help:"with {files}: limit of the total size (500MB; default 2GB)"`
	DryRun    bool     `json:"dry_run,omitempty" help:"only show what would be deleted"`
}

// Check implements Checker.
func (in *GCInput) Check() error {
	if !in.choosesKinds() && !in.Files && !in.DryRun && (in.Keep != nil || in.Max != nil) {
		return Invalid("keep", fault.Usage, "gc: {keep} and {max} go with {files}, {caches} or {all}").Hint("add one of them, or leave it out")
	}
	_, err := in.since(time.Now())
	return err
}

// choosesKinds reports whether the input names more than states of files.
func (in *GCInput) choosesKinds() bool {
	return in.All || in.Worktrees || in.Caches || len(in.Evidence)+len(in.Artifacts) > 0
}

func (in *GCInput) keep() string {
	if in.Keep == nil {
		return "30d"
	}
	return *in.Keep
}

// since returns the time from which states and caches stay.
func (in *GCInput) since(now time.Time) (time.Time, error) {
	since, err := registry.ParseSince(in.keep(), now)
	if err != nil || in.keep() == "" {
		return since, Invalid("keep", fault.Usage, "{keep} %.40q is neither a date nor an age", in.keep()).Hint("write 30d, 36h or 2026-11-01")
	}
	return since, nil
}

// Collected counts the things that a gc dropped, or would drop. One of its fields is set.
type Collected struct {
	Blobs *registry.Swept
	Files *CollectedStates
	Parts *public.Swept
}

// CollectedStates counts states of files that were dropped, or would be.
type CollectedStates struct {
	States  int    `json:"states"`  // that can be restored no more
	Kept    int    `json:"kept"`    // that can
	Objects int    `json:"objects"` // contents and folders that only they named
	Bytes   int64  `json:"bytes"`
	Disk    int64  `json:"disk"` // what all states took before
	Plan    bool   `json:"plan"` // nothing was done
	Keep    string `json:"keep"`
	Max     int64  `json:"max"`
}

// GC drops what is not needed any more.
var GC = Op[GCInput, Collected]{
	Doc: Doc{Name: "gc", Group: "proof", Faces: CLI, Effect: Destroys,
		Summary: "Delete unused data: blobs, old states of files, caches, worktrees of dead agents",
		Help: `Delete blobs that no message refers to. Other data is deleted with {files}, {worktrees} and
{caches}; {all} means all three and the blobs. {dry_run} shows what would be deleted, its
size and the reason; alone, it shows this for {all}.

{files} deletes recorded states of files: those older than {keep}, and the oldest others while
the total exceeds {max}. The newest state of every agent and folder is kept, and so is everything
from the last hour. Entries that refer to a deleted state stay, but its files can't be
restored any more.

{worktrees} removes the worktrees of agents that have ended. A worktree with uncommitted changes
or unmerged commits is kept and listed. Files that git ignores are moved to the trash, which "ramet
trash empty" empties. {caches} deletes cached answers of models and caches of commands that were
not used within {keep}.

{evidence} RUN deletes the recorded requests and answers of a finished run; {artifacts} RUN also
deletes every file that its log names. This is recorded in the log, so "ramet run verify" reports
them as removed, not as changed. Data of a run is deleted only if you name the run.`},
	Run:  collect,
	Text: writeCollected,
	Public: func(_ Face, out Collected) any {
		switch {
		case out.Blobs != nil:
			return *out.Blobs
		case out.Files != nil:
			return *out.Files
		case out.Parts != nil:
			return *out.Parts
		}
		return public.Swept{}
	},
}

func collect(ctx context.Context, e *Env, in GCInput) (Collected, error) {
	since, err := in.since(e.Now())
	if err != nil {
		return Collected{}, err
	}
	states := session.Sweep{Since: since, Most: 2 << 30, Plan: in.DryRun}
	if in.Max != nil {
		states.Most = int64(*in.Max)
	}
	switch kinds := in.choosesKinds(); {
	case in.Files && !kinds:
		gone, err := e.Care().GCFiles(ctx, states)
		return Collected{Files: &CollectedStates{States: gone.States, Kept: gone.Kept, Objects: gone.Objects, Bytes: gone.Bytes, Disk: gone.Disk,
			Plan: in.DryRun, Keep: in.keep(), Max: states.Most}}, err
	case !kinds && !in.DryRun:
		gone, err := e.Store.GC(ctx)
		return Collected{Blobs: &gone}, err
	case in.All || !kinds:
		in.Files, in.Worktrees, in.Caches, in.All = true, true, true, true
	}
	out := public.Swept{Plan: in.DryRun, Parts: []public.SweptPart{}}
	sweep := func(wanted bool, do func() (public.SweptPart, error)) {
		if !wanted || err != nil {
			return
		}
		var p public.SweptPart
		if p, err = do(); err == nil {
			out.Parts = append(out.Parts, p)
			out.Bytes += p.Bytes
		}
	}
	sweep(in.All, func() (public.SweptPart, error) { return e.Care().SweepBlobs(ctx, in.DryRun) })
	sweep(in.Files, func() (public.SweptPart, error) { return e.Care().SweepStates(ctx, states) })
	sweep(in.Worktrees, func() (public.SweptPart, error) { return e.Care().SweepTrees(ctx, in.DryRun) })
	sweep(in.Caches, func() (public.SweptPart, error) { return e.Care().SweepCaches(ctx, since, in.DryRun) })
	for i, runs := range [][]string{in.Evidence, in.Artifacts} {
		for _, list := range runs {
			for id := range strings.SplitSeq(list, ",") {
				sweep(true, func() (public.SweptPart, error) { return e.Care().SweepRun(ctx, id, i == 1, in.DryRun) })
			}
		}
	}
	if err != nil && len(out.Parts) > 0 {
		err = Incomplete{err}
	}
	return Collected{Parts: &out}, err
}

func writeCollected(w *printer.Writer, in GCInput, out Collected) {
	did := "dropped"
	if in.DryRun {
		did = "would drop"
	}
	if b := out.Blobs; b != nil {
		w.Line("%s %s, %d bytes", did, text.Count(int(b.Blobs), "blob"), b.Bytes)
		return
	}
	if f := out.Files; f != nil {
		w.Line("%s %s of files, %s, %d bytes of %d", did, text.Count(f.States, "state"), text.Count(f.Objects, "content"), f.Bytes, f.Disk)
		if f.States > 0 {
			w.Line("%v", w.Dim("older than "+f.Keep+", or over "+strconv.FormatInt(f.Max, 10)+" bytes; "+text.Count(f.Kept, "state")+" stay"))
		}
		return
	}
	rows := [][]string{{"WHAT", "COUNT", "BYTES", "WHY"}}
	for _, p := range out.Parts.Parts {
		rows = append(rows, []string{p.What, strconv.Itoa(p.Count), strconv.FormatInt(p.Bytes, 10), text.Safe(p.Why)})
	}
	w.Table(rows)
	for _, p := range out.Parts.Parts {
		for _, k := range p.Kept {
			w.Line("kept  %s  %v", text.Name(k.Path), w.Dim(text.Safe(k.Why)))
		}
	}
	w.Line("%s %d bytes", did, out.Parts.Bytes)
}
