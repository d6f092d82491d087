package care

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
)

func gcCommand(l *line.Line) *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Drop blobs that no message names",
		Args:  line.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
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
}

// swept is the datum of gc.
type swept registry.Swept

func (d swept) Text(w *printer.Writer) {
	w.Line("dropped %s, %d bytes", text.Count(int(d.Blobs), "blob"), d.Bytes)
}
