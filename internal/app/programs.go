package app

import (
	"context"
	"os"

	"ramet/internal/cli/line"
	"ramet/internal/cli/runs"
	"ramet/recipes/docs"
)

// programs are those of the recipes that are built in.
func programs() map[string]runs.Program {
	out := map[string]runs.Program{}
	for name, do := range docs.Programs.Get() {
		out["docs "+name] = func(ctx context.Context, dir, inputs string, l *line.Line) error {
			return do(ctx, docs.Call{Dir: dir, Inputs: inputs, Temp: os.TempDir(), Value: l.Getenv, Stdout: l.Stdout})
		}
	}
	return out
}
