package operation

import (
	"context"

	"ramet/internal/base/printer"
)

// RemoveRunsInput names runs.
type RemoveRunsInput struct {
	IDs   []RunID `json:"ids" arg:"ID" help:"the runs"`
	Force bool    `json:"force,omitempty" help:"also runs that are not over, or cannot be read"`
}

// RemovedRuns lists runs that were removed.
type RemovedRuns struct {
	Runs []RunID `json:"removed"`
}

// RemoveRuns deletes runs.
var RemoveRuns = Op[RemoveRunsInput, RemovedRuns]{
	Doc: Doc{Name: "run rm", Group: "run logs", Faces: CLI, OnRuns: true, Persons: true, Effect: Destroys, Summary: "Remove runs that are over, with all that they made",
		Help: `Remove runs for good: the folder of each with all that it made, and its log. A run that is
being carried out is refused (exit 4), one that others continue (forks) too; one that is not
over, unless {force} is given. Agents and what they said stay in the workspace.`},
	Run: func(ctx context.Context, e *Env, in RemoveRunsInput) (RemovedRuns, error) {
		for _, id := range in.IDs {
			if err := e.Runs.Remove(ctx, string(id), in.Force); err != nil {
				return RemovedRuns{}, err
			}
		}
		return RemovedRuns{in.IDs}, nil
	},
	Text: func(w *printer.Writer, _ RemoveRunsInput, out RemovedRuns) {
		for _, id := range out.Runs {
			w.Line("removed %s", string(id))
		}
	},
}
