package cli

import (
	"context"
	"time"

	"ramet/internal/base/printer"

	"github.com/spf13/cobra"
)

// watchEvery is the interval at which watch reads one small file.
const watchEvery = time.Second

func watchCommand(l *Line, f *trackFlags) *cobra.Command {
	var once bool
	c := l.command("watch", "Mark sub-agents whose owner is dead or whose time is over as interrupted", `Look once a second for spawned sub-agents whose owner is dead or whose timeout is over,
mark them as interrupted, so that they can be resumed, and print each. It ends when it
is stopped; --once looks once.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			marked, err := folder.Sweep(ctx)
			for _, e := range marked {
				if err == nil {
					err = l.Printer().PrintLine(aloneLedger(e, false))
				}
			}
			if err != nil || once {
				return nil, err
			}
			select {
			case <-ctx.Done():
				return nil, nil
			case <-tick.C:
			}
		}
	})
	c.Flags().BoolVar(&once, "once", false, "look once, then end")
	return c
}
