package cli

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/run/rundir"
)

func importRunCommand(l *Line, f *runFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Make a run from an exported log",
		Long: `Make a run from the NDJSON lines that "ramet run export" printed. All of it is
verified first; the lines stay the same to the byte. - reads standard input.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			var data []byte
			var err error
			if args[0] == "-" {
				data, err = io.ReadAll(l.Stdin)
			} else {
				data, err = os.ReadFile(args[0])
			}
			if err != nil {
				return fault.New(fault.NotFound, "read export: %w", err)
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			kind, err := f.newKind()
			if err != nil {
				return err
			}
			if err := l.MakeRuns(f.dir); err != nil {
				return err
			}
			x, err := store.Import(c.Context(), data, kind)
			if err != nil {
				return err
			}
			return errors.Join(l.Print(madeRun(store, x)), x.Close())
		},
	}
}

func exportRunCommand(l *Line, f *runFlags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "export ID", Short: "Write the log of a run as NDJSON", Args: CheckArguments(1, 1),
		Long: `Write the log of a run to standard output, verified, one event a line, the same
bytes whatever the log is kept in. The events of runs that it continues come first.`,
		RunE: func(c *cobra.Command, args []string) error {
			if format != "ndjson" {
				return fault.New(fault.Usage, "run export: unknown format %q", format).WithHint("use ndjson")
			}
			return withReader(l, c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				for e, err := range r.Events(c.Context(), 0) {
					if err != nil {
						return err
					}
					if _, err := io.WriteString(l.Stdout, string(e.Raw)+"\n"); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&format, "format", "ndjson", "ndjson")
	return c
}
