package files

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/files"
	"ramet/internal/id"
	"ramet/internal/printer"
	"ramet/internal/public"
	"ramet/internal/session"
	"ramet/internal/text"
)

const careful = `What others than this agent could have changed since (other agents, you, programs) is kept
as it is, and listed; --force restores it too. --dry-run says what would happen. Before
anything is touched the files are kept as they are: "ramet undo" takes a restore back.
Git's own files are not touched.`

func restoreCommand(l *line.Line) *cobra.Command {
	var force, dry bool
	c := &cobra.Command{
		Use:   "restore AGENT ID [-- PATH…]",
		Short: "Make files what they were at a message",
		Long: `Make the files of an agent's folder what they were when a message was written: those
that are named, and what is below them, or all.

` + careful,
		Args:              line.Arguments(2, 1<<20),
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
			return Print(l, dry)(ws.Restore(c.Context(), session.Restoring{Agent: a, At: at, Paths: args[2:], Force: force, Plan: dry}))
		},
	}
	Flags(c, &force, &dry)
	return c
}

func undoCommand(l *line.Line) *cobra.Command {
	var force, dry bool
	c := &cobra.Command{
		Use:   "undo [AGENT]",
		Short: "Take back what an agent's last turn did to files",
		Long: `Make the files of an agent's folder (agent 0 if none is named) what they were before its
last turn that changed some. The conversation stays as it is: "ramet rewind --files" goes
back with both. After a restore, undo takes that back.

` + careful,
		Args:              line.Arguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			return Print(l, dry)(ws.Restore(c.Context(), session.Restoring{Agent: a, Last: true, Force: force, Plan: dry}))
		},
	}
	Flags(c, &force, &dry)
	return c
}

// Flags are those of commands that restore files.
func Flags(c *cobra.Command, force, dry *bool) {
	c.Flags().BoolVar(force, "force", false, "restore also what others could have changed")
	c.Flags().BoolVar(dry, "dry-run", false, "only say what would happen")
}

// Print prints what a restore did; what it did before an error too.
func Print(l *line.Line, plan bool) func(session.Restored, error) error {
	return func(r session.Restored, err error) error {
		if err != nil {
			if f, ok := fault.Of(err); ok && len(r.Changed) > 0 {
				return fault.New(f.Code, "%w; %s restored before", err, text.Count(len(r.Changed), "file")).WithHint("%s", f.Hint)
			}
			return err
		}
		return l.Print(restored{r.Show(plan)})
	}
}

// restored is the datum of restore, undo and rewind --files.
type restored struct{ public.Restore }

// Text of a restore.
func (d restored) Text(w *printer.Writer) {
	did := map[bool][2]string{false: {"restored", "removed"}, true: {"restore", "remove"}}[d.Plan]
	for _, p := range d.Restored {
		w.Line("%-8s  %s", did[0], text.Name(p))
	}
	for _, p := range d.Removed {
		w.Line("%-8s  %s", did[1], text.Name(p))
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
