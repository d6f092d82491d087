package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

func listRunsCommand(l *Line, f *runFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the runs", Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			ids, err := store.List()
			if err != nil {
				return err
			}
			out := runList{Runs: []runRow{}}
			for _, id := range ids {
				out.Runs = append(out.Runs, rowOf(l, c, store, id))
			}
			return l.Print(out)
		},
	}
}

// rowOf never fails: a run that cannot be read is listed with its fault.
func rowOf(l *Line, c *cobra.Command, store *rundir.Store, id string) runRow {
	row := runRow{RunID: id}
	r, err := store.Open(c.Context(), id, "")
	if err == nil {
		defer r.Close()
		var state run.Snapshot
		if state, err = r.State(c.Context()); err == nil {
			row.State, row.Events, row.Updated = string(state.RunState), state.EventCount, state.UpdatedAt
			standing := store.Standing(c.Context(), state)
			row.Status, row.Reason = string(standing.Status), public.Optional(standing.Reason)
		}
	}
	if err != nil {
		row.Error = public.Optional(string(fault.CodeOf(err)))
	}
	return row
}

// runList is the datum of run list.
type runList struct {
	Runs []runRow `json:"runs"`
}

type runRow struct {
	RunID   string  `json:"run_id"`
	State   string  `json:"run_state"`
	Status  string  `json:"status"` // see rundir.Status
	Reason  *string `json:"reason"`
	Events  int64   `json:"event_count"`
	Updated string  `json:"updated_at"`
	Error   *string `json:"error"`
}

func (l runList) Text(w *printer.Writer) {
	if len(l.Runs) == 0 {
		w.Line("no runs")
		return
	}
	rows := [][]string{{"RUN", "STATE", "STATUS", "EVENTS", "UPDATED"}}
	for _, r := range l.Runs {
		state, status := r.State, r.Status
		if r.Error != nil {
			state = *r.Error
		}
		if r.Reason != nil {
			code, _, _ := strings.Cut(*r.Reason, ":")
			status += ": " + code
		}
		rows = append(rows, []string{r.RunID, state, status, fmt.Sprint(r.Events), r.Updated})
	}
	w.Table(rows)
}
