package cli

import (
	"context"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
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
			return nil, fault.New(fault.Usage, "--status %.40q is not a status", status).WithHint("use %s", statusWords())
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

// tracked is an entry of the ledger as a datum.
type tracked struct {
	ledger.Entry
	gone    string // why it is gone although it is spawned
	outcome ledger.Entry
	short   bool // its text is the id alone
}

func (t tracked) MarshalJSON() ([]byte, error) {
	return public.Marshal(t.Show(t.gone, t.outcome.Status))
}

func (t tracked) Text(w *printer.Writer) {
	if t.short {
		w.Line("%s", t.ID)
		return
	}
	w.Line("%s %s", text.Line(t.ID, 200), t.says())
}

// says returns the status, and what else matters about it.
func (t tracked) says() string {
	status := string(t.Status)
	switch {
	case t.gone != "":
		status += " (" + t.gone + ")"
	case t.ResumedBy != "":
		status += " by " + t.ResumedBy
	case t.Reason != "":
		status += " (" + text.Line(t.Reason, 60) + ")"
	}
	return text.Line(status, 200)
}

// trackedList is the datum of list and history.
type trackedList struct{ entries []tracked }

func (l trackedList) List() (string, iter.Seq[any]) {
	return "entries", func(yield func(any) bool) {
		for _, t := range l.entries {
			if !yield(t) {
				return
			}
		}
	}
}

func (l trackedList) Text(w *printer.Writer) {
	if len(l.entries) == 0 {
		w.Line("no sub-agents")
		return
	}
	rows := [][]string{{"ID", "PLAN", "TYPE", "AGE", "TASK", "STATUS"}}
	for _, t := range l.entries {
		age := ""
		if !t.At.IsZero() {
			age = w.Age(t.At)
		}
		rows = append(rows, []string{text.Line(t.ID, 40), text.Line(t.Plan, 10), text.Line(t.Type, 24), age, text.Line(t.Description, 40), t.says()})
	}
	w.Table(rows)
}

// shower returns a function that makes data of entries of one sheet.
func shower(sheet *ledger.Sheet, judge ledger.Judge) func(ledger.Entry) tracked {
	outcome := sheet.Outcomes()
	return func(e ledger.Entry) tracked {
		t := tracked{Entry: e, outcome: outcome(e)}
		if e.Status == ledger.Spawned {
			t.gone, _ = judge(e)
		}
		return t
	}
}

// aloneLedger makes the datum of an entry that was just written: no other continues it yet.
func aloneLedger(e ledger.Entry, short bool) tracked {
	return tracked{Entry: e, outcome: e, short: short}
}
