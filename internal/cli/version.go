package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/printer"
)

// Version says what this binary is. It is the datum of version.
type Version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"`
}

// Text of a version.
func (v Version) Text(w *printer.Writer) {
	w.Line("ramet %s (%s, %s)", v.Version, v.Go, v.Platform)
}

func (s *session) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return s.print(s.Version) },
	}
}
