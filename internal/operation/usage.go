package operation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/operation/session"
)

// UsageInput chooses calls of models, and how they are added up.
type UsageInput struct {
	By    *Grouping `json:"by,omitempty" help:"agent, subtree, model or day (default: agent)"`
	Since *string   `json:"since,omitempty" help:"only calls since a date (2026-11-01) or within an age (36h, 7d)"`
	Disk  bool      `json:"disk,omitempty" faces:"cli" help:"show the disk space that the workspace uses"`
}

// Grouping is a way to add up calls.
type Grouping string

// Words implements Words.
func (Grouping) Words() []string { return registry.Groupings }

// Refuse implements Refuser.
func (Grouping) Refuse(word string) error { return registry.CheckGrouping(word) }

// Check implements Checker.
func (in *UsageInput) Check() error {
	if in.Disk && (in.By != nil || in.Since != nil) {
		return Invalid("disk", fault.Usage, "usage: {disk} goes with neither {by} nor {since}").Hint("leave one of them out")
	}
	if _, err := registry.ParseSince(valueOf(in.Since), time.Time{}); err != nil {
		return Invalid("since", fault.Usage, "{since} %.40q is neither a date nor an age", *in.Since).Hint("write 2026-11-01, 36h or 7d")
	}
	return nil
}

// Usage adds up calls of models.
var Usage = Op[UsageInput, Used]{
	Doc: Doc{Name: "usage", Aliases: "cost", Group: "models", ID: "getUsage", Route: "GET /api/v1/usage 200", Faces: CLI | HTTP | Slash, Effect: Reads,
		Summary: "Show tokens and cost of model calls",
		Help: `Show the totals of model calls: number, tokens read and written, tokens read from and written to
caches, cost and time. Every call counts once, even though forks share histories. For agents that
other programs drive, what went through ramet's gateway counts; without it, what the program reports.
Both are shown.

{disk} shows the disk space that the workspace uses instead.

{by} agent (default), subtree (every agent with its descendants), model, or day (UTC). {since} takes a
date (2026-11-01) or an age (36h, 7d).`},
	Run: addUpUsage,
	Public: func(_ Face, out Used) any {
		if out.disk != nil {
			return *out.disk
		}
		return out.calls
	},
	Text: func(w *printer.Writer, _ UsageInput, out Used) {
		if out.disk != nil {
			writeDiskUsage(w, *out.disk)
			return
		}
		writeSpending(w, out.calls)
	},
}

// Used holds the sums of calls, or the sizes on the disk.
type Used struct {
	calls registry.Spending
	disk  *DiskUsage
}

// DiskUsage lists the files and folders of the workspace with their sizes.
type DiskUsage struct {
	Places []session.DiskPlace `json:"places"`
	Total  int64               `json:"total"`
}

func addUpUsage(ctx context.Context, e *Env, in UsageInput) (out Used, err error) {
	if in.Disk {
		disk := DiskUsage{Places: e.Care().Disks()}
		for _, d := range disk.Places {
			disk.Total += d.Bytes
		}
		return Used{disk: &disk}, nil
	}
	since, err := registry.ParseSince(valueOf(in.Since), e.Now())
	if err != nil {
		return out, err
	}
	by := "agent"
	if in.By != nil {
		by = string(*in.By)
	}
	out.calls, err = registry.AddUp(ctx, e.Store, by, since)
	return out, err
}

func writeDiskUsage(w *printer.Writer, d DiskUsage) {
	rows := [][]string{{"WHAT", "BYTES", "WHERE"}}
	for _, p := range d.Places {
		rows = append(rows, []string{p.What, strconv.FormatInt(p.Bytes, 10), p.Where})
	}
	w.Table(append(rows, []string{"total", strconv.FormatInt(d.Total, 10), ""}))
}

func writeSpending(w *printer.Writer, d registry.Spending) {
	if len(d.Rows) == 0 {
		w.Line("no calls of models")
		return
	}
	rows := [][]string{{strings.ToUpper(d.By), "CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST", "TIME"}}
	driven := d.Total.Wire != nil || d.Total.Reported != nil
	if driven {
		rows[0] = append(rows[0], "WIRE", "REPORTED")
	}
	if d.Total.Imported != nil {
		rows[0] = append(rows[0], "BEFORE IMPORT")
	}
	for _, r := range append(slices.Clip(d.Rows), d.Total) {
		calls := strconv.FormatInt(r.Calls, 10)
		if r.Failed > 0 {
			calls += fmt.Sprintf(" (%d failed)", r.Failed)
		}
		cost := r.Cost.String()
		if r.Unpriced > 0 {
			cost += fmt.Sprintf(" + %s of unknown price", text.Count(int(r.Unpriced), "call"))
		}
		row := []string{r.Key, calls, strconv.FormatInt(r.Input, 10), strconv.FormatInt(r.Output, 10),
			strconv.FormatInt(r.CacheRead, 10), strconv.FormatInt(r.CacheWrite, 10), cost,
			(time.Duration(r.TookMS) * time.Millisecond).String()}
		if driven {
			row = append(row, formatSpent(r.Wire), formatSpent(r.Reported))
		}
		if d.Total.Imported != nil {
			row = append(row, formatSpent(r.Imported))
		}
		rows = append(rows, row)
	}
	w.Table(rows)
}

// formatSpent returns tokens and cost of one account.
func formatSpent(s *registry.SpentBy) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatInt(s.Tokens, 10) + " (" + s.Cost.String() + ")"
}
