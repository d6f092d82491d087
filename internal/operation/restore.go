package operation

import (
	"context"
	"fmt"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/files"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// RestoreOptions are the options of operations that restore files. They implement Confirmer: a person
// decides about files that changed while a command of the agent was running.
type RestoreOptions struct {
	Force    bool  `json:"force,omitempty" help:"also restore what others may have changed"`
	Commands *bool `json:"commands,omitempty" default:"http=false" help:"also restore what changed while a command of the agent was running"`
	DryRun   bool  `json:"dry_run,omitempty" alias:"plan" help:"only show what would happen"`
}

// Undecided implements Confirmer.
func (o *RestoreOptions) Undecided() bool { return !o.Force && !o.DryRun && o.Commands == nil }

// SetDryRun implements Confirmer.
func (o *RestoreOptions) SetDryRun(dry bool) { o.DryRun = dry }

// Decide implements Confirmer.
func (o *RestoreOptions) Decide(yes bool, _ any) error {
	o.Commands = &yes
	return nil
}

const restoreHelp = `

Files that others than this agent may have changed since (other agents, you, programs) are kept and
listed. That includes files that changed while a command of the agent was running: you may have
edited them. On a terminal you are asked about these files. Otherwise they are kept and the exit
code is 4, unless {commands} restores them too or {commands}=false keeps them. {force} restores
everything. {dry_run} shows what would happen.

The current files are recorded first, so "ramet undo" reverts a restore. Files that can't be
recorded (over 50 MB, or containing a key) are moved to the trash: see "ramet trash". Git's own
files and other repositories in the folder are not changed.`

// RestoreInput chooses files and what they are to be.
type RestoreInput struct {
	Agent  AgentRef   `json:"agent" arg:"AGENT" help:"the agent"`
	At     id.Message `json:"at,omitempty" arg:"ID!" help:"the message whose state to restore"`
	Last   bool       `json:"last,omitempty" faces:"http" help:"to the state before the last turn that changed files, or before the last restore"`
	Rewind bool       `json:"rewind,omitempty" faces:"http" help:"also rewind the conversation to the message"`
	Paths  []string   `json:"paths,omitempty" arg:"-- PATH…" help:"only these paths and everything below them (default: all)"`
	RestoreOptions
}

// Check implements Checker.
func (in *RestoreInput) Check() error {
	switch {
	case (in.At == 0) != in.Last:
		return Invalid("at", fault.Usage, "either {at} or {last} says to when")
	case in.Rewind && (in.Last || len(in.Paths) > 0):
		return Invalid("rewind", fault.Usage, "{rewind} goes with {at}, and without {paths}")
	}
	for _, p := range in.Paths {
		if _, err := files.CheckPath(p); err != nil {
			return At("paths", err)
		}
	}
	return nil
}

// Restore makes files what they were.
var Restore = Op[RestoreInput, public.Restore]{
	Doc: Doc{Name: "restore", Group: "files", ID: "restoreFiles", Route: "POST /api/v1/agents/{ref=agent}/restore 200", Faces: CLI | HTTP,
		Summary: "Restore files to their state at a message",
		Help: `Restore the files of an agent's folder to their state at a message: the given paths and everything
below them, or all files.` + restoreHelp},
	On: func(ctx context.Context, e *Env, a agent.Agent, in RestoreInput) (public.Restore, error) {
		if in.Rewind {
			return e.rewindFiles(ctx, a, session.Rewinding{To: in.At}, in.RestoreOptions)
		}
		return e.restore(ctx, session.Restoring{Agent: a, At: in.At, Last: in.Last, Paths: in.Paths}, in.RestoreOptions)
	},
	Text: func(w *printer.Writer, _ RestoreInput, out public.Restore) { writeRestore(w, out) },
	Ask:  askRestore,
}

// UndoInput names an agent whose files are to be what they were.
type UndoInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent"`
	RestoreOptions
}

// Undo takes back what the last turn did to files.
var Undo = Op[UndoInput, public.Restore]{
	Doc: Doc{Name: "undo", Group: "files", Faces: CLI,
		Summary: "Undo the file changes of an agent's last turn",
		Help: `Undo the file changes of the last turn of an agent (default: agent 0) that changed any. The
conversation is not changed; "ramet rewind --files" goes back with both. After a restore, undo
reverts the restore.` + restoreHelp},
	On: func(ctx context.Context, e *Env, a agent.Agent, in UndoInput) (public.Restore, error) {
		return e.restore(ctx, session.Restoring{Agent: a, Last: true}, in.RestoreOptions)
	},
	Text: func(w *printer.Writer, _ UndoInput, out public.Restore) { writeRestore(w, out) },
	Ask:  askRestore,
}

func (e *Env) restore(ctx context.Context, r session.Restoring, o RestoreOptions) (public.Restore, error) {
	r.Force, r.Commands, r.Plan = o.Force, valueOf(o.Commands), o.DryRun
	done, err := e.Files().Restore(ctx, r)
	return showRestore(done, err, o)
}

func (e *Env) rewindFiles(ctx context.Context, a agent.Agent, r session.Rewinding, o RestoreOptions) (public.Restore, error) {
	r.Force, r.Commands, r.Plan = o.Force, valueOf(o.Commands), o.DryRun
	done, err := e.Files().RewindFiles(ctx, a, r)
	return showRestore(done, err, o)
}

// showRestore returns what became of files. It fails after a restore that kept files about which
// no option decided.
func showRestore(done session.Restored, err error, o RestoreOptions) (public.Restore, error) {
	if err != nil {
		if f, ok := fault.Of(err); ok && len(done.Changed) > 0 {
			err = fault.New(f.Code, "%w; %s restored before", err, text.Count(len(done.Changed), "file")).WithHint("%s", f.Hint)
		}
		return public.Restore{}, err
	}
	out := done.Show(o.DryRun)
	if paths := ChangedDuring(out); len(paths) > 0 && o.Undecided() {
		return out, Incomplete{fault.New(fault.Conflict, "%s kept that changed while a command of the agent was running: you may have edited them meanwhile", text.Count(len(paths), "file")).
			WithHint("--commands restores them too, --force everything; --commands=false keeps them without this error")}
	}
	return out, nil
}

// ChangedDuring lists the paths that are kept because they changed while a command was running.
func ChangedDuring(r public.Restore) (out []string) {
	for _, k := range r.Kept {
		if k.Why == files.Running {
			out = append(out, k.Path)
		}
	}
	return out
}

// askRestore lists the files that a person decides about.
func askRestore(w *printer.Writer, plan public.Restore) string {
	paths := ChangedDuring(plan)
	for _, p := range paths {
		w.Line("  %s", text.Name(p))
	}
	if len(paths) == 0 {
		return ""
	}
	return "These files changed while a command of the agent was running. If you edited one of them meanwhile, keep them.\nRestore them too? [y/N] "
}

func writeRestore(w *printer.Writer, out public.Restore) {
	did := map[bool][2]string{false: {"restored", "removed"}, true: {"restore", "remove"}}[out.Plan]
	trashed := map[string]string{}
	for _, t := range out.Trashed {
		trashed[t.Path] = "in the trash: " + t.ID
		if out.Plan {
			trashed[t.Path] = "goes to the trash"
		}
	}
	note := func(path, what string) printer.Styled {
		if trashed[path] == "" {
			return ""
		}
		return w.Dim("  " + what + trashed[path])
	}
	for _, p := range out.Restored {
		w.Line("%-8s  %s%v", did[0], text.Name(p), note(p, "the old content "+map[bool]string{false: "is "}[out.Plan]))
	}
	for _, p := range out.Removed {
		w.Line("%-8s  %s%v", did[1], text.Name(p), note(p, ""))
	}
	for _, k := range out.Kept {
		w.Line("%-8s  %s  %v", "kept", text.Name(k.Path), w.Dim(k.Why))
	}
	if len(out.Restored)+len(out.Removed)+len(out.Kept) == 0 {
		w.Line("the files are as they were")
	}
	if out.State.Partial {
		w.Line("%v", w.Dim("that state is partial: other files were left unchanged"))
	}
}

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
	writeTable(w, "", []string{"ID", "AGE", "SIZE", "ACT", "AGENT", "PATH"}, items, func(i public.TrashItem) []string {
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
		return []string{i.ID, age, text.FormatSize(i.Size), i.Act, agent, path}
	})
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
