package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/files"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

const careful = `What others than this agent could have changed since (other agents, you, programs) is kept
as it is, and listed. That includes what changed while a command of the agent was running:
you may have edited it meanwhile. On a terminal you are asked about these files; elsewhere
they are kept and the exit code is 4, unless --commands restores them too, or
--commands=false keeps them. --force restores everything. --dry-run says what would happen.

Before anything is touched the files are kept as they are: "ramet undo" takes a restore back.
What cannot be kept (files over 50 MB, files that contain a key) is moved to the trash: see "ramet
trash". Git's own files and other repositories in the folder are not touched.`

func restoreCommand(l *Line) *cobra.Command {
	var o FileOptions
	c := &cobra.Command{
		Use:   "restore AGENT ID [-- PATH…]",
		Short: "Make files what they were at a message",
		Long: `Make the files of an agent's folder what they were when a message was written: those
that are named, and what is below them, or all.

` + careful,
		Args:              CheckArguments(2, 1<<20),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			at, err := id.ParseMessage(args[1])
			if err != nil {
				return err
			}
			for _, p := range args[2:] {
				if _, err := files.CheckPath(p); err != nil {
					return err
				}
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return o.Carry(l, c, func(o FileOptions) (session.Restored, error) {
				return ws.Files().Restore(c.Context(), session.Restoring{Agent: a, At: at, Paths: args[2:], Force: o.Force, Commands: o.Commands, Plan: o.DryRun})
			})
		},
	}
	o.AddFlags(c)
	return c
}

func undoCommand(l *Line) *cobra.Command {
	var o FileOptions
	c := &cobra.Command{
		Use:   "undo [AGENT]",
		Short: "Take back what an agent's last turn did to files",
		Long: `Make the files of an agent's folder (agent 0 if none is named) what they were before its
last turn that changed some. The conversation stays as it is: "ramet rewind --files" goes
back with both. After a restore, undo takes that back.

` + careful,
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			return o.Carry(l, c, func(o FileOptions) (session.Restored, error) {
				return ws.Files().Restore(c.Context(), session.Restoring{Agent: a, Last: true, Force: o.Force, Commands: o.Commands, Plan: o.DryRun})
			})
		},
	}
	o.AddFlags(c)
	return c
}

// FileOptions are the flags of commands that restore files.
type FileOptions struct {
	Force, Commands, DryRun bool
}

// AddFlags adds the flags to a command.
func (o *FileOptions) AddFlags(c *cobra.Command) {
	c.Flags().BoolVar(&o.Force, "force", false, "restore also what others could have changed")
	c.Flags().BoolVar(&o.Commands, "commands", false, "restore also what changed while a command of the agent was running")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "only say what would happen")
}

// Carry restores files and prints what became of them. If files changed while a command of the agent
// was running, and no flag says what to do with them, Carry asks on a terminal; elsewhere it keeps
// them and returns CONFLICT.
func (o FileOptions) Carry(l *Line, c *cobra.Command, restoreFiles func(FileOptions) (session.Restored, error)) error {
	decided := o.Force || o.DryRun || c.Flags().Changed("commands")
	if !decided && l.Password != nil && !l.JSON {
		plan, err := restoreFiles(FileOptions{DryRun: true})
		if err != nil {
			return err
		}
		if paths := changedDuring(plan); len(paths) > 0 {
			for _, p := range paths {
				fmt.Fprintf(l.Stderr, "  %s\n", text.Name(p))
			}
			o.Commands = l.Yes("These files changed while a command of the agent was running. If you edited one of them meanwhile, keep them.\n" +
				"Restore them too? [y/N] ")
			decided = true
		}
	}
	r, err := restoreFiles(o)
	if err != nil {
		if f, ok := fault.Of(err); ok && len(r.Changed) > 0 {
			return fault.New(f.Code, "%w; %s restored before", err, text.Count(len(r.Changed), "file")).WithHint("%s", f.Hint)
		}
		return err
	}
	if err := l.Print(restored{r.Show(o.DryRun)}); err != nil {
		return err
	}
	if paths := changedDuring(r); len(paths) > 0 && !decided {
		return fault.New(fault.Conflict, "%s kept that changed while a command of the agent was running: you may have edited them meanwhile", text.Count(len(paths), "file")).
			WithHint("--commands restores them too, --force everything; --commands=false keeps them without this error")
	}
	return nil
}

// changedDuring lists the paths that are kept because they changed while a command was running.
func changedDuring(r session.Restored) []string {
	var out []string
	for _, k := range r.Plan.Kept {
		if k.Why == files.Running {
			out = append(out, k.Path)
		}
	}
	return out
}

// restored is the datum of restore, undo and rewind --files.
type restored struct{ public.Restore }

// Text of a restore.
func (d restored) Text(w *printer.Writer) {
	did := map[bool][2]string{false: {"restored", "removed"}, true: {"restore", "remove"}}[d.Plan]
	trashed := map[string]string{}
	for _, t := range d.Trashed {
		trashed[t.Path] = "in the trash: " + t.ID
		if d.Plan {
			trashed[t.Path] = "goes to the trash"
		}
	}
	note := func(path, what string) printer.Styled {
		if trashed[path] == "" {
			return ""
		}
		return w.Dim("  " + what + trashed[path])
	}
	for _, p := range d.Restored {
		w.Line("%-8s  %s%v", did[0], text.Name(p), note(p, "the old content "+map[bool]string{false: "is "}[d.Plan]))
	}
	for _, p := range d.Removed {
		w.Line("%-8s  %s%v", did[1], text.Name(p), note(p, ""))
	}
	for _, k := range d.Kept {
		w.Line("%-8s  %s  %v", "kept", text.Name(k.Path), w.Dim(k.Why))
	}
	if len(d.Restored)+len(d.Removed)+len(d.Kept) == 0 {
		w.Line("the files are as they were")
	}
	if d.State.Partial {
		w.Line("%v", w.Dim("that state is partial: what it does not hold was left as it is"))
	}
}
