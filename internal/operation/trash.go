package operation

import (
	"context"
	"fmt"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// NoInput is the input of operations without options.
type NoInput struct{}

// Trash lists what is in the trash.
var Trash = Op[NoInput, public.Trash]{
	Doc: Doc{Name: "trash", Group: "files", ID: "listTrash", Route: "GET /api/v1/trash 200", Faces: CLI | HTTP | Slash, Effect: Reads,
		Summary: "List, restore or delete files that ramet moved out of the way",
		Help: `List what is in the trash of the workspace: id, age and size, the act that moved it there, the owner
of the files, and their path.

ramet never deletes a file of yours. Rewind, undo, restore, merge and the removal of worktrees move
files that can't be restored from history to the trash: files over 50 MB, files that contain one of
your keys, what exceeds the limit of 1 GB, files that a program has open for writing, and ignored
files. The trash is on the same file system as the files, so moving them takes no space. If a file
can't be moved, the command refuses before it changes anything. Agents can't see the trash.`},
	Run: func(ctx context.Context, e *Env, _ NoInput) (public.Trash, error) { return e.Care().ShowTrash(ctx) },
	Text: func(w *printer.Writer, _ NoInput, out public.Trash) {
		if len(out.Items) == 0 {
			w.Line("the trash is empty")
			return
		}
		writeTrash(w, out.Items)
		w.Line("%v", w.Dim(fmt.Sprintf("%s, %s; `ramet trash restore ID` restores one", text.Count(len(out.Items), "item"), text.FormatSize(out.Bytes))))
	},
}

func writeTrash(w *printer.Writer, items []public.TrashItem) {
	rows := [][]string{{"ID", "AGE", "SIZE", "ACT", "AGENT", "PATH"}}
	for _, i := range items {
		agent := "-"
		if i.Agent != nil {
			agent = (*i.Agent)[:min(8, len(*i.Agent))]
		}
		age := i.At
		if at, err := time.Parse(time.RFC3339, i.At); err == nil {
			age = w.Age(at)
		}
		path := text.Name(i.Path)
		if i.Kind == "folder" || i.Kind == "worktree" {
			path += "/"
		}
		rows = append(rows, []string{i.ID, age, text.FormatSize(i.Size), i.Act, agent, path})
	}
	w.Table(rows)
}

// RestoreTrashInput chooses files in the trash.
type RestoreTrashInput struct {
	ID TrashRef `json:"id" arg:"ID|PATH" help:"an item, an act with everything that it moved, or the original path of an item"`
	To Path     `json:"to,omitempty" faces:"cli" help:"restore to this path instead"`
}

// RestoreTrash moves files from the trash back.
var RestoreTrash = Op[RestoreTrashInput, public.TrashRestores]{
	Doc: Doc{Name: "trash restore", Group: "files", ID: "restoreTrash", Route: "POST /api/v1/trash/restore 200", Faces: CLI | HTTP,
		Summary: "Restore files from the trash",
		Help: `Move an item from the trash back to its path, or to another one with {to}. An item has an id such as
k3hxa7mq.2; k3hxa7mq means everything that the same act moved. You can also give the original path.
Nothing is overwritten: if the path exists, the command refuses.

"ramet undo" restores files from the trash too, if it reverts the act that moved them.`},
	Run: func(ctx context.Context, e *Env, in RestoreTrashInput) (public.TrashRestores, error) {
		out, err := e.Care().RestoreTrash(ctx, string(in.ID), string(in.To))
		if err != nil && len(out.Restored) > 0 {
			err = Incomplete{err}
		}
		return out, err
	},
	Text: func(w *printer.Writer, _ RestoreTrashInput, out public.TrashRestores) {
		for _, r := range out.Restored {
			w.Line("restored  %s", text.Name(r.To))
		}
	},
}

// EmptyTrashInput chooses files in the trash to delete.
type EmptyTrashInput struct {
	Older  *string `json:"older,omitempty" help:"only what was moved there before this age (36h, 30d) or date"`
	Over   Size    `json:"over,omitempty" help:"only files larger than this (500MB, 2GB)"`
	All    *bool   `json:"all,omitempty" faces:"http" default:"http=false" help:"everything; required without {older} and {over}"`
	DryRun bool    `json:"dry_run,omitempty" alias:"plan" help:"only show what would be deleted"`
	Yes    bool    `json:"yes,omitempty" short:"y" faces:"cli" default:"http=true" help:"don't ask"`
}

// Check implements Checker.
func (in *EmptyTrashInput) Check() error {
	if in.All != nil && *in.All != (in.Older == nil && in.Over == 0) {
		return Invalid("all", fault.Usage, "either {older}, {over} or both, or {all}")
	}
	if in.Older == nil {
		return nil
	}
	if _, err := registry.ParseSince(*in.Older, time.Time{}); err != nil || *in.Older == "" {
		return Invalid("older", fault.Usage, "{older} %.40q is neither a date nor an age", *in.Older).Hint("write 30d, 36h or 2026-11-01")
	}
	return nil
}

// Undecided implements Confirmer.
func (in *EmptyTrashInput) Undecided() bool { return !in.Yes && !in.DryRun }

// SetDryRun implements Confirmer.
func (in *EmptyTrashInput) SetDryRun(dry bool) { in.DryRun = dry }

// Decide implements Confirmer.
func (in *EmptyTrashInput) Decide(yes bool, _ any) error {
	if in.Yes = yes; yes {
		return nil
	}
	return fault.New(fault.Cancelled, "not confirmed, nothing was deleted").WithHint("answer y, or repeat with --yes")
}

// EmptyTrash deletes files in the trash.
var EmptyTrash = Op[EmptyTrashInput, public.TrashEmptied]{
	Doc: Doc{Name: "trash empty", Group: "files", ID: "emptyTrash", Route: "POST /api/v1/trash/empty 200", Faces: CLI | HTTP, Effect: Destroys,
		Summary: "Delete what is in the trash for good",
		Help: `Delete the contents of the trash for good: everything, or what is older than {older} or larger than
{over}; with both, what is older and larger. The command asks first. {yes} doesn't ask, and
{dry_run} only shows what would be deleted.`},
	Run:  emptyTrash,
	Text: func(w *printer.Writer, _ EmptyTrashInput, out public.TrashEmptied) { writeEmptied(w, out) },
	Ask: func(w *printer.Writer, plan public.TrashEmptied) string {
		if len(plan.Items) == 0 {
			return ""
		}
		writeEmptied(w, plan)
		return "Delete them for good? [y/N] "
	},
}

func emptyTrash(ctx context.Context, e *Env, in EmptyTrashInput) (public.TrashEmptied, error) {
	which := session.Emptying{Over: int64(in.Over), Plan: in.DryRun || !in.Yes}
	if in.Older != nil {
		var err error
		if which.Before, err = registry.ParseSince(*in.Older, e.Now()); err != nil {
			return public.TrashEmptied{}, err
		}
	}
	out, err := e.Care().EmptyTrash(ctx, which)
	out.Plan = in.DryRun
	if err == nil && which.Plan && !in.DryRun && len(out.Items) > 0 {
		return out, fault.New(fault.Usage, "trash empty deletes %s for good, and there is no terminal for a question", text.Count(len(out.Items), "item")).
			WithHint("--dry-run lists them; repeat with --yes")
	}
	return out, err
}

func writeEmptied(w *printer.Writer, out public.TrashEmptied) {
	did := "deleted"
	if out.Plan {
		did = "would delete"
		if len(out.Items) > 0 {
			writeTrash(w, out.Items)
		}
	}
	w.Line("%s %s, %s", did, text.Count(len(out.Items), "item"), text.FormatSize(out.Bytes))
}
