package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/printer"
	"ramet/internal/registry"
)

func (s *session) gcCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Drop blobs that no message names",
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := s.open(c.Context())
			if err != nil {
				return err
			}
			out, err := ws.GC(c.Context())
			if err != nil {
				return err
			}
			return s.print(swept(out))
		},
	}
}

// swept is the datum of gc.
type swept registry.Swept

func (d swept) Text(w *printer.Writer) {
	w.Line("dropped %s, %d bytes", count(int(d.Blobs), "blob"), d.Bytes)
}
