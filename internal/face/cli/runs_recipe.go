package cli

import (
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
)

// ReadStartedRecipe reads the recipe that a run began with. One of an earlier version may use built-ins that are
// others now: what exactly does not fit is told, and what to do; the run stays as it is. One that
// does not hold the agents as which its workers are made is refused: what this host calls by these
// names may be something else.
func ReadStartedRecipe(runID string, config rundir.Config) (*recipe.Recipe, error) {
	r, err := recipe.Parse([]byte(config.Text))
	if err == nil {
		if lost := r.Undefined(); len(lost) > 0 {
			return nil, fault.New(fault.InvalidRecipe, "the recipe of run %s does not hold agent %.60q, as which a worker is made", runID, lost[0]).
				WithHint("nothing was changed: begin anew, where that agent is defined")
		}
		return r, nil
	}
	again := "ramet run start --recipe " + text.Line(config.Recipe, 60)
	if repo := config.Set["repo"]; repo != "" {
		again += " --repo " + text.Line(repo, 200)
	}
	return nil, fault.New(fault.InvalidRecipe, "run %s was begun by another version of ramet, with a recipe %s that this one does not carry out: %w", runID, text.Line(config.Recipe, 60), err).
		WithHint("nothing was changed: go on with the version that began it, or begin anew with `%s`; what it made stays in its folder", again)
}
