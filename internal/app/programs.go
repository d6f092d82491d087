package app

import (
	"context"
	"os"

	"ramet/internal/cli/line"
	"ramet/internal/cli/runs"
	"ramet/internal/durable"
	"ramet/recipes/docs"
)

// programs are those of the recipes that are built in.
func programs() map[string]runs.Program {
	out := map[string]runs.Program{}
	for name, do := range docs.Programs.Get() {
		out["docs "+name] = func(ctx context.Context, dir, inputs string, l *line.Line) error {
			temp, err := os.MkdirTemp("", "ramet-program-")
			if err != nil {
				return durable.Failure("make a folder for", name, err)
			}
			defer os.RemoveAll(temp)
			return do(ctx, docs.Call{Dir: dir, Inputs: inputs, Temp: temp, Value: l.Getenv, Stdout: l.Stdout})
		}
	}
	return out
}
