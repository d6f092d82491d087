package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is the interval at which watch reads one small file.
const watchEvery = time.Second

func watchCommand(l *Line, f *trackFlags) *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "watch",
		Short: "Mark sub-agents whose owner is dead or whose time is over as interrupted",
		Long: `Look once a second for spawned sub-agents whose owner is dead or whose timeout is over,
mark them as interrupted, so that they can be resumed, and print each. It ends when it
is stopped; --once looks once.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			folder, err := ledgerOf(l, c, f, l.Dir)
			if err != nil {
				return err
			}
			tick := time.NewTicker(watchEvery)
			defer tick.Stop()
			for {
				marked, err := folder.Sweep(c.Context())
				if err != nil {
					return err
				}
				for _, e := range marked {
					if err := l.Printer().PrintLine(aloneLedger(e, false)); err != nil {
						return err
					}
				}
				if once {
					return nil
				}
				select {
				case <-c.Context().Done():
					return nil
				case <-tick.C:
				}
			}
		},
	}
	c.Flags().BoolVar(&once, "once", false, "look once, then end")
	return c
}
