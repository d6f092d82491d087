package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
)

func planCommand(l *Line, f *runFlags, ports RunsPorts) *cobra.Command {
	var wishes run.Wishes
	var model string
	c := &cobra.Command{
		Use: "plan ID", Short: "Show what a resume would do", Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return withReader(l, c, f, args[0], func(store *rundir.Store, r *rundir.Reader) error {
				state, err := r.Truth(c.Context())
				if err != nil {
					return err
				}
				config, failed := store.Config(r.RunID) // a run of another program has none
				made, old := ReadStartedRecipe(r.RunID, config)
				ours := failed == nil && old == nil
				if ours {
					wishes.LooksUp = made.LooksUp
				}
				p, err := run.PlanResume(state, store.Disk(r.RunID), wishes)
				if err != nil {
					return err
				}
				d := runPlan{Plan: p, Crowded: []runner.OversizedItem{}}
				if failed == nil && config.Text != "" && old != nil {
					d.Refused = old.Error()
				}
				if ours {
					if model != "" {
						config.Model = model
					}
					if err := d.measure(c.Context(), l, ports, store, config, state); err != nil {
						return err
					}
				}
				return l.Print(d)
			})
		},
	}
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to repeat; may be repeated")
	c.Flags().BoolVar(&wishes.Force, "force", false, "repeat everything")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	c.Flags().StringVar(&model, "model", "", "vendor/name of the model for the resume")
	c.RegisterFlagCompletionFunc("model", cobra.NoFileCompletions)
	return c
}

type runPlan struct {
	run.Plan
	// Crowded are items that would be refused: they would be given too much.
	Crowded []runner.OversizedItem `json:"crowded"`
	// Refused is the reason why this version would not carry out the run at all.
	Refused string `json:"refused,omitempty"`
}

func (p *runPlan) measure(ctx context.Context, l *Line, ports RunsPorts, store *rundir.Store, config rundir.Config, state run.Snapshot) error {
	files, err := store.OpenFiles(p.RunID)
	if err != nil {
		return err
	}
	defer files.Close()
	all, err := crowdedRuns(ctx, l, ports, config, files, state, p.Plan)
	p.Crowded = append(p.Crowded, all...)
	return err
}

func (p runPlan) Text(w *printer.Writer) {
	w.Line("run %s is %s; it continues from %s", p.RunID, string(p.From), string(p.Resume))
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
	if p.Refused != "" {
		w.Line("REFUSED  %s", p.Refused)
	}
	for _, x := range p.Crowded {
		w.Line("TOO MUCH %s", x.String())
	}
	for _, x := range p.Artifacts {
		w.Line("artifact %s (%s) %s", x.Name, x.Path, x.Why)
	}
}

// checkFits refuses a run that is not made yet and could not be carried out: an item would be given more
// than half of what its model can read, whatever the others make.
func checkFits(ctx context.Context, l *Line, p RunsPorts, config rundir.Config) error {
	if _, err := l.Open(ctx); err != nil { // the model may be that of agent 0
		return err
	}
	all, err := crowdedRuns(ctx, l, p, config, nil, run.Snapshot{}, run.Plan{})
	if err != nil {
		return err
	}
	return runner.RefuseOversized(all)
}

// crowdedRuns returns the items of a run that would be given too much.
func crowdedRuns(ctx context.Context, l *Line, p RunsPorts, config rundir.Config, files runner.Folder, now run.Snapshot, plan run.Plan) ([]runner.OversizedItem, error) {
	r, err := recipe.Parse([]byte(config.Text))
	if err != nil {
		return nil, err
	}
	o := runner.Options{Recipe: r, Model: config.Model}
	if o.Params, err = r.Bind(config.Set); err != nil {
		return nil, err
	}
	if o.Window, err = p.Windows(ctx, l.Session); err != nil {
		return nil, err
	}
	return runner.FindOversized(o, files, now, plan), nil
}
