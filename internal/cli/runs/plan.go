package runs

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/printer"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/rundir"
)

func planCommand(l *line.Line, f *runFlags) *cobra.Command {
	var wishes run.Wishes
	c := &cobra.Command{
		Use: "plan ID", Short: "Show what a resume would do", Args: line.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return withReader(l, c, f, args[0], func(store *rundir.Store, r *rundir.Reader) error {
				state, err := r.Truth(c.Context())
				if err != nil {
					return err
				}
				if config, err := store.Config(r.RunID); err == nil { // a run of another program has none
					if made, err := recipe.Parse([]byte(config.Text)); err == nil {
						wishes.LooksUp = looksUp(made)
					}
				}
				p, err := run.PlanResume(state, store.Disk(r.RunID), wishes)
				if err != nil {
					return err
				}
				return l.Print(runPlan{p})
			})
		},
	}
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to do again; may be repeated")
	c.Flags().BoolVar(&wishes.Force, "force", false, "everything again")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	return c
}

// runPlan is the datum of run plan.
type runPlan struct{ run.Plan }

func (p runPlan) Text(w *printer.Writer) {
	w.Line("run %s is %s; it goes on from %s", p.RunID, string(p.From), string(p.Resume))
	for _, x := range p.Skip {
		w.Line("skip     %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Discard {
		w.Line("discard  %s: interrupted", x.WorkItemID)
	}
	for _, x := range p.Queue {
		w.Line("queue    %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Unknown {
		w.Line("UNKNOWN  %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Artifacts {
		w.Line("artifact %s (%s) %s", x.Name, x.Path, x.Why)
	}
}
