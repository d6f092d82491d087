package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
)

func rewindCommand(l *Line) *cobra.Command {
	var to string
	var withFiles bool
	var o FileOptions
	c := &cobra.Command{
		Use:   "rewind AGENT [LABEL]",
		Short: "Go back to a mark or a message; print the entry's id",
		Long: `Go back: the context becomes what it was just after a mark (the newest of that
label; the newest mark if no label is given) or after the message --to ID.
Nothing is deleted, and what was rewound can be reached again. A clear is a wall.

Files stay as they are. With --files they become what they were then; what others than
this agent could have changed since is kept as it is, and listed, unless --force says
otherwise. That includes what changed while a command of the agent was running: you may
have edited it meanwhile. On a terminal you are asked about these files; elsewhere they
are kept and the exit code is 4, unless --commands restores them too, or --commands=false
keeps them. --dry-run only says what would happen to files.`,
		Args:              CheckArguments(1, 2),
		ValidArgsFunction: l.CompleteLabels,
		RunE: func(c *cobra.Command, args []string) error {
			if !withFiles && (o.Force || o.DryRun || c.Flags().Changed("commands")) {
				return fault.New(fault.Usage, "rewind: --force, --commands and --dry-run go with --files").WithHint("add --files, or leave them out")
			}
			if c.Flags().Changed("to") && len(args) == 2 {
				return fault.New(fault.Usage, "rewind: both a label and --to").WithHint("leave one of them out")
			}
			label := ""
			if len(args) == 2 {
				label = args[1]
				if err := history.CheckLabel(label); err != nil {
					return err
				}
			}
			var target id.Message
			if c.Flags().Changed("to") {
				var err error
				if target, err = id.ParseMessage(to); err != nil {
					return err
				}
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if withFiles {
				return o.Carry(l, c, func(o FileOptions) (session.Restored, error) {
					return ws.Files().RewindFiles(c.Context(), a, session.Rewinding{To: target, Label: label, Force: o.Force, Commands: o.Commands, Plan: o.DryRun})
				})
			}
			if c.Flags().Changed("to") {
				return writtenHistory(l)(ws.History().RewindTo(c.Context(), a, target))
			}
			return writtenHistory(l)(ws.History().Rewind(c.Context(), a, label))
		},
	}
	c.Flags().StringVar(&to, "to", "", "message id")
	c.Flags().BoolVar(&withFiles, "files", false, "files too")
	o.AddFlags(c)
	return c
}
