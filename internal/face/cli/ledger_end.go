package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/ledger"
)

// trackMove is a command that takes an entry to another status.
func trackMove(l *Line, f *trackFlags, verb string, to ledger.Status, short string) *cobra.Command {
	var reason string
	var c *cobra.Command
	c = l.command(verb+" ID", short, short+`. The same status twice changes nothing.

It exits with 3 (NOT_FOUND), 4 (ILLEGAL_TRANSITION, which names the legal ones) or 6 (STORAGE_…).`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if c.Flags().Changed("reason") {
			if err := fault.CheckText(fault.InvalidText, "the reason", reason, 64<<10); err != nil {
				return nil, err
			}
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		e, err := folder.Move(ctx, args[0], to, reason)
		return aloneLedger(e, false), err
	})
	c.ValidArgsFunction = completeTracked(l, f, func(from ledger.Status) bool {
		return from == ledger.Spawned || from == ledger.Interrupted && to == ledger.Failed
	})
	c.Flags().StringVar(&reason, "reason", "", "why, in words")
	return c
}
