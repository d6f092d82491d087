package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

func forkRunCommand(l *Line, f *runFlags) *cobra.Command {
	var at, runID string
	c := &cobra.Command{
		Use:   "fork ID --at EVENT",
		Short: "Make a run that continues another from one of its events",
		Long: `Make a run that continues another from one of its events, given as event_id or as
its number in the log. The events before are shared, not copied, and linked by
hash; its log is kept where that of the other is, unless --log says otherwise.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if at == "" {
				return fault.New(fault.Usage, "run fork: --at is missing").WithHint("give an event_id or a number of `ramet run events`")
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			kind, err := f.kind()
			if err != nil {
				return err
			}
			if runID != "" {
				if err := run.CheckRunID(runID); err != nil {
					return err
				}
			}
			x, err := store.Fork(c.Context(), args[0], at, runID, kind)
			if err != nil {
				return err
			}
			return errors.Join(l.Print(runMade{x.RunID, store.Dir(x.RunID), x.Came()}), x.Close())
		},
	}
	c.Flags().StringVar(&at, "at", "", "event_id or number of the last event to share")
	c.Flags().StringVar(&runID, "run-id", "", "id of the new run")
	return c
}
