package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

// Version describes this binary. It is the output of version.
type Version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"` // the commit it was built from
	Date     string `json:"date,omitempty"`     // the commit's, RFC 3339
	Modified bool   `json:"modified"`           // the source differed from the commit
}

// Text of a version.
func (v Version) Text(w *printer.Writer) {
	w.Line("ramet %s (%s, %s)", v.Version, v.Go, v.Platform)
	if v.Revision != "" {
		w.Line("%s", v.source())
	}
}

// String is the whole of it on one line.
func (v Version) String() string {
	out := "ramet " + v.Version + ", " + v.Go
	if source := v.source(); source != "" {
		out += ", " + source
	}
	return out
}

// source is one line on what it was built from; empty where that is not known.
func (v Version) source() string {
	if v.Revision == "" {
		return ""
	}
	out := "commit " + v.Revision
	if v.Date != "" {
		out += " of " + v.Date
	}
	if v.Modified {
		out += ", modified"
	}
	return out
}

func versionCommand(l *Line, about func() Version) *cobra.Command {
	return l.command("version", "Print the version and build", "", 0, 0, func(context.Context, []string) (printer.Datum, error) { return about(), nil })
}
