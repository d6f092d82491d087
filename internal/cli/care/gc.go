package care

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
)

func gcCommand(l *line.Line) *cobra.Command {
	var states, dry bool
	keep, most := "30d", "2GB"
	c := &cobra.Command{
		Use:   "gc",
		Short: "Drop what nobody needs: blobs, old states of files",
		Long: `Drop blobs that no message names. With --files drop states of files instead: those that
are older than --keep, and of the others the oldest while all take more than --max. The
newest state of each agent and of each folder stays, and so does what was kept in the last
hour. Entries that name a state that was dropped stay as they are; its files can be
restored no more. --dry-run says what would be dropped, how much that is, and why.`,
		Args: line.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if !states && (dry || c.Flags().Changed("keep") || c.Flags().Changed("max")) {
				return fault.New(fault.Usage, "gc: --keep, --max and --dry-run go with --files").WithHint("add --files, or leave them out")
			}
			if states {
				return sweepFiles(l, c, keep, most, dry)
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			out, err := ws.Store.GC(c.Context())
			if err != nil {
				return err
			}
			return l.Print(swept(out))
		},
	}
	c.Flags().BoolVar(&states, "files", false, "states of files")
	c.Flags().StringVar(&keep, "keep", keep, "with --files: how old states may be (36h, 30d), or a date")
	c.Flags().StringVar(&most, "max", most, "with --files: how much of the disk they may take (500MB, 2GB)")
	c.Flags().BoolVar(&dry, "dry-run", false, "with --files: only say what would be dropped")
	return c
}

// swept is the datum of gc.
type swept registry.Swept

func (d swept) Text(w *printer.Writer) {
	w.Line("dropped %s, %d bytes", text.Count(int(d.Blobs), "blob"), d.Bytes)
}
