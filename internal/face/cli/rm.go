package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func rmCommand(l *Line, f *runFlags) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove runs that are over, with all that they made",
		Long: `Remove runs for good: the folder of each with all that it made, and its log. A run that is
being carried out is refused (exit 4), one that others continue (forks) too; one that is not
over, unless --force is given. Agents and what they said stay in the workspace.`,
		Args: CheckArguments(1, 1000),
		RunE: func(c *cobra.Command, args []string) error {
			if err := l.Person("run rm"); err != nil {
				return err
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			out := removed{Runs: []string{}}
			for _, id := range args {
				if err := store.Remove(c.Context(), id, force); err != nil {
					return err
				}
				out.Runs = append(out.Runs, id)
			}
			return l.Print(out)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also runs that are not over, or cannot be read")
	return c
}

// removed is the datum of run rm.
type removed struct {
	Runs []string `json:"removed"`
}

func (d removed) Text(w *printer.Writer) {
	for _, id := range d.Runs {
		w.Line("removed %s", id)
	}
}
