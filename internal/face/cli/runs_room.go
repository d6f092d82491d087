package cli

import (
	"context"

	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
)

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

// crowdedRuns are the items of a run that would be given too much.
func crowdedRuns(ctx context.Context, l *Line, p RunsPorts, config rundir.Config, files runner.Files, now run.Snapshot, plan run.Plan) ([]runner.OversizedItem, error) {
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
