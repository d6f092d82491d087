package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/ledger"
)

func resumeLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var flags startFlags
	c := &cobra.Command{
		Use:   "resume ID",
		Short: "Register a sub-agent that goes on for an interrupted one; print its id",
		Long: `Mark ID as resumed and register a new sub-agent that goes on for it, with its type, plan
and description. ID must be interrupted, or spawned with an owner that is dead or a
timeout that is over; a completed or living one is ILLEGAL_TRANSITION, exit 4.`,
		Args: CheckArguments(1, 1),
		ValidArgsFunction: completeTracked(l, f, func(from ledger.Status) bool {
			return from == ledger.Spawned || from == ledger.Interrupted
		}),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := flags.start(c)
			if err != nil {
				return err
			}
			folder, err := ledgerOf(l, c, f, l.Dir)
			if err != nil {
				return err
			}
			e, err := folder.Resume(c.Context(), args[0], st)
			if err != nil {
				return err
			}
			return l.Print(aloneLedger(e, true))
		},
	}
	flags.add(c)
	flags.addOwner(c)
	return c
}
