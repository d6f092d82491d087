package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/ledger"
)

func resumeLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var flags startFlags
	var c *cobra.Command
	c = l.command("resume ID", "Register a sub-agent that continues an interrupted one; print its id", `Mark ID as resumed and register a new sub-agent that continues it, with its type, plan
and description. ID must be interrupted, or spawned with an owner that is dead or a
timeout that is over; a completed or living one is ILLEGAL_TRANSITION, exit 4.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		st, err := flags.start(c)
		if err != nil {
			return nil, err
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		e, err := folder.Resume(ctx, args[0], st)
		return aloneLedger(e, true), err
	})
	c.ValidArgsFunction = completeTracked(l, f, func(from ledger.Status) bool {
		return from == ledger.Spawned || from == ledger.Interrupted
	})
	flags.add(c)
	flags.addOwner(c)
	return c
}
