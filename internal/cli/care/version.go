package care

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
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

func versionCommand(l *line.Line, v Version) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: line.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return l.Print(v) },
	}
}
