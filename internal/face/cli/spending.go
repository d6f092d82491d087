package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
)

func spendingCommand(l *Line) *cobra.Command {
	var by, since string
	var disk bool
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show what calls of models used and cost",
		Long: `Add up the calls of models that agents made: how many, tokens read and written,
tokens read from and put into caches, cost and time. Each call counts once, although
forks share their histories. Of agents that other programs drive, what went through
ramet's gateway counts, else what they report; both are shown.

--disk shows instead what the workspace takes of the disk.

--by agent (default), subtree (each agent with everything below it), model, or day
(UTC). --since takes a date (2026-11-01) or an age (36h, 7d).`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if disk {
				if c.Flags().Changed("by") || c.Flags().Changed("since") {
					return fault.New(fault.Usage, "usage: --disk goes with neither --by nor --since").WithHint("leave one of them out")
				}
				return showDisk(l, c.Context())
			}
			if err := registry.CheckGrouping(by); err != nil {
				return err
			}
			from, err := registry.ParseSince(since, l.Now())
			if err != nil {
				return err
			}
			out, err := addUp(l, c.Context(), by, from)
			if err != nil {
				return err
			}
			return l.Print(out)
		},
	}
	c.Flags().StringVar(&by, "by", "agent", "agent, subtree, model or day")
	c.Flags().StringVar(&since, "since", "", "only calls since a date, or of the last hours or days")
	c.Flags().BoolVar(&disk, "disk", false, "what the workspace takes of the disk")
	c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(registry.Groupings, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// spending is the datum of usage.
type spending struct{ registry.Spending }

// addUp reads the calls of the workspace.
func addUp(l *Line, ctx context.Context, by string, since time.Time) (spending, error) {
	ws, err := l.Open(ctx)
	if err != nil {
		return spending{}, err
	}
	out, err := registry.AddUp(ctx, ws.Store, by, since)
	return spending{out}, err
}

// spentBy is what one account says of a row.
func spentBy(s *registry.SpentBy) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatInt(s.Tokens, 10) + " (" + s.Cost.String() + ")"
}

func (d spending) Text(w *printer.Writer) {
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
		rows = append(rows, []string{r.Key, calls, strconv.FormatInt(r.Input, 10), strconv.FormatInt(r.Output, 10),
			strconv.FormatInt(r.CacheRead, 10), strconv.FormatInt(r.CacheWrite, 10), cost,
			(time.Duration(r.TookMS) * time.Millisecond).String()})
		if last := len(rows) - 1; driven {
			rows[last] = append(rows[last], spentBy(r.Wire), spentBy(r.Reported))
		}
		if last := len(rows) - 1; d.Total.Imported != nil {
			rows[last] = append(rows[last], spentBy(r.Imported))
		}
	}
	w.Table(rows)
}
