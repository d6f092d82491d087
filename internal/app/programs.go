package app

import (
	"context"
	"os"

	"ramet/internal/base/durable"
	"ramet/internal/face/cli"
	"ramet/recipes/docs"
)

// programs are those of the recipes that are built in.
func programs() map[string]cli.RunProgram {
	out := map[string]cli.RunProgram{}
	for name, do := range docs.Programs {
		out["docs "+name] = func(ctx context.Context, dir, inputs string, l *cli.Line) error {
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
