package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/ledger"
)

func completeCommand(l *Line, f *trackFlags) *cobra.Command {
	return trackMove(l, f, "complete", ledger.Completed, "Record that a sub-agent ended well")
}

func failCommand(l *Line, f *trackFlags) *cobra.Command {
	return trackMove(l, f, "fail", ledger.Failed, "Record that a sub-agent failed")
}

func timeoutCommand(l *Line, f *trackFlags) *cobra.Command {
	return trackMove(l, f, "timeout", ledger.Timeout, "Record that a sub-agent used up its time")
}

func interruptCommand(l *Line, f *trackFlags) *cobra.Command {
	return trackMove(l, f, "interrupt", ledger.Interrupted, "Record that a sub-agent stopped in the middle; it can be resumed")
}

// trackMove is a command that takes an entry to another status.
func trackMove(l *Line, f *trackFlags, verb string, to ledger.Status, short string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long: short + `. The same status twice changes nothing.

It exits with 3 (NOT_FOUND), 4 (ILLEGAL_TRANSITION, which names the legal ones) or 6 (STORAGE_…).`,
		Args: CheckArguments(1, 1),
		ValidArgsFunction: completeTracked(l, f, func(from ledger.Status) bool {
			return from == ledger.Spawned || from == ledger.Interrupted && to == ledger.Failed
		}),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("reason") {
				if err := fault.CheckText(fault.InvalidText, "the reason", reason, 64<<10); err != nil {
					return err
				}
			}
			folder, err := ledgerOf(l, c, f, l.Dir)
			if err != nil {
				return err
			}
			e, err := folder.Move(c.Context(), args[0], to, reason)
			if err != nil {
				return err
			}
			return l.Print(aloneLedger(e, false))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, in words")
	return c
}
