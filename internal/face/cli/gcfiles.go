package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/operation/session"
)

func sweepFiles(l *Line, c *cobra.Command, keep, most string, dry bool) error {
	since, limit, err := limitsCare(l, keep, most)
	if err != nil {
		return err
	}
	ws, err := l.Open(c.Context())
	if err != nil {
		return err
	}
	out, err := ws.Care().GCFiles(c.Context(), session.Sweep{Since: since, Most: limit, Plan: dry})
	if err != nil {
		return err
	}
	return l.Print(sweptFiles{States: out.States, Kept: out.Kept, Objects: out.Objects, Bytes: out.Bytes, Disk: out.Disk, Plan: dry, Keep: keep, Max: limit})
}

// limitsCare reads --keep and --max.
func limitsCare(l *Line, keep, most string) (since time.Time, limit int64, err error) {
	if since, err = registry.ParseSince(keep, l.Now()); err != nil || keep == "" {
		return since, 0, fault.New(fault.Usage, "--keep %.40q is neither a date nor an age", keep).WithHint("write 30d, 36h or 2026-11-01")
	}
	limit, ok := text.ParseSize(most)
	if !ok {
		return since, 0, fault.New(fault.Usage, "--max %.40q is no size", most).WithHint("write 500MB or 2GB")
	}
	return since, limit, nil
}

// sweptFiles is the datum of gc --files.
type sweptFiles struct {
	States  int    `json:"states"`  // that can be restored no more
	Kept    int    `json:"kept"`    // that can
	Objects int    `json:"objects"` // contents and folders that only they named
	Bytes   int64  `json:"bytes"`
	Disk    int64  `json:"disk"` // what all states took before
	Plan    bool   `json:"plan"` // nothing was done
	Keep    string `json:"keep"`
	Max     int64  `json:"max"`
}

// Text of what was swept.
func (d sweptFiles) Text(w *printer.Writer) {
	did := "dropped"
	if d.Plan {
		did = "would drop"
	}
	w.Line("%s %s of files, %s, %d bytes of %d", did, text.Count(d.States, "state"), text.Count(d.Objects, "content"), d.Bytes, d.Disk)
	if d.States > 0 {
		w.Line("%v", w.Dim("older than "+d.Keep+", or over "+strconv.FormatInt(d.Max, 10)+" bytes; "+text.Count(d.Kept, "state")+" stay"))
	}
}
