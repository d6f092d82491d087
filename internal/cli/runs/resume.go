package runs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/run"
)

func resumeCommand(l *line.Line, f *runFlags, p Ports) *cobra.Command {
	var o carryFlags
	var wishes run.Wishes
	c := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a run that was interrupted",
		Long: `Go on with a run where its log ends. What was completed is not done again while its
inputs and outputs are what they were; what was interrupted is done again; of external
effects without a way to look them up nobody knows whether they happened: they are listed
(UNKNOWN_OUTCOME) and done again only with --redo. ` + "`ramet run plan ID`" + ` shows it before.

` + line.ExitHelp(),
		Args: line.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if there, err := l.GoOn(c.Context(), o.detached); there {
				return err
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			kind, err := f.kind()
			if err != nil {
				return err
			}
			x, err := store.OpenAfresh(c.Context(), args[0], kind)
			if err != nil {
				return err
			}
			if x.Repaired != "" {
				fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
			}
			return errors.Join(carry(l, p, c.Context(), &o, store, x, wishes), x.Close())
		},
	}
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to do again; repeats")
	c.Flags().BoolVar(&wishes.Force, "force", false, "do everything again")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	o.add(c)
	return c
}
