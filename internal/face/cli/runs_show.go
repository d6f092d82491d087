package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/store/database"
)

func showRunCommand(l *Line, f *runFlags, p RunsPorts) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the state of a run", Args: CheckArguments(1, 1),
		Long: `Show the state of a run, as its events give it. The snapshot in its folder is
compared with them; if it differs, that is told, and the exit code is 5. --json
prints the snapshot (its form: "ramet schema snapshot").`,
		RunE: func(c *cobra.Command, args []string) error {
			return withReader(l, c, f, args[0], func(store *rundir.Store, r *rundir.Reader) error {
				state, err := r.Truth(c.Context())
				if err != nil {
					return err
				}
				return l.Print(runState{state, stuck(l, p, c.Context(), state), store.Standing(c.Context(), state)})
			})
		},
	}
}

// stuck are the items that wait for a host which may act outside of runs, while none is
// alive.
func stuck(l *Line, p RunsPorts, ctx context.Context, n run.Snapshot) []string {
	var out []string
	for _, item := range n.WorkItems {
		if item.Status == run.Pending && item.External() && latest(n.WorkItems, item) {
			out = append(out, item.WorkItemID)
		}
	}
	place, err := l.Place()
	if len(out) == 0 || err != nil || !database.IsPostgres(place.DB) || n.RunState.Terminal() {
		return nil
	}
	if found, err := p.External(ctx, place.DB); err != nil || found {
		return nil // it may be about to be done
	}
	return out
}

// runState is the datum of run show and run replay.
type runState struct {
	run.Snapshot
	stuck    []string // see stuck
	standing rundir.Standing
}

func (d runState) Text(w *printer.Writer) {
	w.Line("run        %s", d.RunID)
	w.Line("state      %s", string(d.RunState))
	if d.standing.Status != "" {
		w.Line("status     %s%s", string(d.standing.Status), withReason(d.standing.Reason))
	}
	w.Line("events     %d, last %s", d.EventCount, d.UpdatedAt)
	counts := map[run.Status]int{}
	for _, item := range d.WorkItems {
		counts[item.Status]++
	}
	w.Line("items      %d: %d completed, %d in progress, %d pending, %d failed", len(d.WorkItems), counts[run.Completed],
		counts[run.InProgress], counts[run.Pending], counts[run.ItemFailed])
	for _, name := range slices.Sorted(maps.Keys(d.SectionStates)) {
		w.Line("section    %s: %s", name, string(d.SectionStates[name]))
	}
	for _, item := range d.WorkItems {
		if item.Status == run.InProgress || item.Status == run.ItemFailed && item.Error != nil && latest(d.WorkItems, item) {
			w.Line("item       %s %s%s", item.WorkItemID, string(item.Status), because(item.Error))
		}
	}
	for _, id := range d.stuck {
		w.Line("item       %s waits for a host that may act outside of runs: ramet worker --external", id)
	}
	open := 0
	for _, i := range d.Issues {
		if i.Status != run.IssueDone {
			open++
		}
	}
	w.Line("issues     %d open of %d", open, len(d.Issues))
	for _, i := range d.Issues {
		if i.Status != run.IssueDone {
			w.Line("issue      %s %s: %s%s", i.IssueID, i.Severity, i.Message, inFiles(i.Files))
		}
	}
	w.Line("artifacts  %d", len(d.Artifacts))
	if d.Failure != nil {
		w.Line("failure    %s: %s", d.Failure.Code, d.Failure.Message)
	}
	switch {
	case d.PR != nil && d.PR.URL != nil:
		w.Line("pr         %s", *d.PR.URL)
	case d.PR != nil && d.PR.Bundle != nil:
		w.Line("pr         %s", *d.PR.Bundle)
	}
}

// latest says whether no later attempt of an item was made.
func latest(all []run.Item, item run.Item) bool {
	return !slices.ContainsFunc(all, func(o run.Item) bool {
		return o.Worker == item.Worker && o.ScopeKey == item.ScopeKey && o.Attempt > item.Attempt
	})
}

func withReason(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func because(e *run.ItemError) string {
	if e == nil {
		return ""
	}
	return ": " + e.Code + ": " + e.Message
}
