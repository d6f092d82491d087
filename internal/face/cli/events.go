package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

func eventsCommand(l *Line, f *runFlags) *cobra.Command {
	var follow bool
	var kind string
	c := &cobra.Command{
		Use:   "events ID",
		Short: "Show the events of a run",
		Long: `Show the events of a run, verified as they are read; those of the runs that it
continues come first. --json prints the lines of the log as they are.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return withReader(l, c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				n, over := int64(0), false
				tick := time.NewTicker(runsPollEvery)
				defer tick.Stop()
				for {
					for e, err := range r.Events(c.Context(), n) {
						if err != nil {
							return err
						}
						n++
						over = e.Type == run.RunStateChanged && ends(e.Payload) || over && e.Type != run.RunReopened
						if kind != "" && string(e.Type) != kind {
							continue
						}
						if err := l.Printer().PrintLine(eventLine{e, n}); err != nil {
							return err
						}
					}
					if !follow || over {
						return nil
					}
					select {
					case <-c.Context().Done():
						return c.Context().Err()
					case <-tick.C:
					}
				}
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as events are added, until the run is over")
	c.Flags().StringVar(&kind, "type", "", "only events of this type")
	return c
}

// ends says whether a change of state is into one that ends a run.
func ends(payload []byte) bool {
	var p struct {
		New run.State `json:"new_state"`
	}
	return json.Unmarshal(payload, &p) == nil && p.New.Terminal()
}

// eventLine is the datum of run events.
type eventLine struct {
	run.Entry
	n int64
}

func (e eventLine) MarshalJSON() ([]byte, error) { return e.Raw, nil }

func (e eventLine) Text(w *printer.Writer) {
	w.Line("%v %-22s %s", w.Dim(fmt.Sprintf("%5d %s", e.n, e.TS)), string(e.Type), text.Line(string(e.Payload), 100))
}
