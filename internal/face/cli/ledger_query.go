package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/ledger"
)

// readEntries reads the ledger and makes data of its entries.
func readEntries(ctx context.Context, l *Line, f *trackFlags) (ledger.View, ledger.Judge, func(ledger.Entry) tracked, error) {
	folder, err := ledgerOf(l, f, l.Dir)
	if err != nil {
		return ledger.View{}, nil, nil, err
	}
	v, err := folder.Read(ctx)
	if err != nil {
		return v, nil, nil, err
	}
	judge := folder.Judge()
	return v, judge, shower(v.Sheet, judge), nil
}

// oneTracked makes a command that shows one entry; what says which.
func oneTracked(l *Line, f *trackFlags, what, short, long string, find func(ledger.View, ledger.Judge) (ledger.Entry, bool)) *cobra.Command {
	return l.command(what, short, long, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		v, judge, show, err := readEntries(ctx, l, f)
		if err != nil {
			return nil, err
		}
		e, ok := find(v, judge)
		if !ok {
			return nil, fault.New(fault.NotFound, "no sub-agent is %s", what).WithHint("`ramet track list` shows all")
		}
		return show(e), nil
	})
}

func activeCommand(l *Line, f *trackFlags) *cobra.Command {
	return oneTracked(l, f, "active", "Show the current sub-agent", `Show the entry that current-agent-id.txt names, with its status; without that file the
newest that is spawned. Exit code 3 if there is none.`,
		func(v ledger.View, _ ledger.Judge) (ledger.Entry, bool) { return v.Active(v.Named) })
}

func interruptedCommand(l *Line, f *trackFlags) *cobra.Command {
	return oneTracked(l, f, "interrupted", "Show the newest sub-agent that can be resumed", `Show the newest entry that is interrupted, or spawned with an owner that is dead or a
timeout that is over. Exit code 3 if there is none.`, ledger.View.Interrupted)
}

func historyCommand(l *Line, f *trackFlags) *cobra.Command {
	var plan string
	var c *cobra.Command
	c = l.command("history --plan NN", "Show the sub-agents of a plan, oldest first", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		if plan == "" {
			return nil, fault.New(fault.Usage, "%s: --plan is missing", c.CommandPath()).WithHint("usage: %s", c.UseLine())
		}
		v, _, show, err := readEntries(ctx, l, f)
		if err != nil {
			return nil, err
		}
		var out trackedList
		for _, e := range v.Plan(plan) {
			out.entries = append(out.entries, show(e))
		}
		return out, nil
	})
	c.Flags().StringVar(&plan, "plan", "", "number of the plan, such as 02")
	return c
}

func listLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var status string
	var c *cobra.Command
	c = l.command("list", "Show all sub-agents, oldest first", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		v, _, show, err := readEntries(ctx, l, f)
		if err != nil {
			return nil, err
		}
		var out trackedList
		for _, e := range v.Entries() {
			if status == "" || string(e.Status) == status {
				out.entries = append(out.entries, show(e))
			}
		}
		// Other programs may write statuses that are not ours; a word that no entry has is a slip.
		if c.Flags().Changed("status") && len(out.entries) == 0 && !ledger.Status(status).Known() {
			return nil, fault.New(fault.Usage, "--status %.40q is no status", status).WithHint("use %s", statusWords())
		}
		return out, nil
	})
	c.Flags().StringVar(&status, "status", "", "only those with this status: "+statusWords())
	return c
}

func statusWords() string {
	var words []string
	for _, s := range ledger.Statuses() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}
