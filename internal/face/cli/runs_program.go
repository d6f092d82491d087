package cli

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
)

// RunProgram is a program of a recipe, called by its commands: in the folder where it is called,
// with its inputs below $RAMET_INPUTS, and variables.
type RunProgram func(ctx context.Context, dir, inputs string, l *Line) error

// programCommand makes the command that built-in recipes call ("$RAMET" run program docs plan);
// people do not type it. It opens no workspace: in the sandbox there is none.
func programCommand(l *Line, p RunsPorts) *cobra.Command {
	return &cobra.Command{
		Use:    "program RECIPE NAME",
		Short:  "Carry out a program of a recipe",
		Hidden: true,
		Args:   CheckArguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			programs := p.Programs()
			do, ok := programs[strings.Join(args, " ")]
			if !ok {
				return fault.New(fault.NotFound, "there is no program %.60q of a recipe %.60q", args[1], args[0]).
					WithHint("there are %s", strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
			}
			dir, err := os.Getwd()
			if err != nil {
				return fault.New(fault.Failed, "find the folder: %w", err)
			}
			return do(c.Context(), dir, l.Getenv("RAMET_INPUTS"), l)
		},
	}
}
