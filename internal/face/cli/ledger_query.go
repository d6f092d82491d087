package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/ledger"
)

// readEntries reads the ledger and makes data of its entries.
func readEntries(l *Line, c *cobra.Command, f *trackFlags) (ledger.View, ledger.Judge, func(ledger.Entry) tracked, error) {
	folder, err := ledgerOf(l, c, f, l.Dir)
	if err != nil {
		return ledger.View{}, nil, nil, err
	}
	v, err := folder.Read(c.Context())
	if err != nil {
		return v, nil, nil, err
	}
	judge := folder.Judge()
	return v, judge, shower(v.Sheet, judge), nil
}

func activeCommand(l *Line, f *trackFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "active",
		Short: "Show the current sub-agent",
		Long: `Show the entry that current-agent-id.txt names, with its status; without that file the
newest that is spawned. Exit code 3 if there is none.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			v, _, show, err := readEntries(l, c, f)
			if err != nil {
				return err
			}
			e, ok := v.Active(v.Named)
			if !ok {
				return fault.New(fault.NotFound, "no sub-agent is active").WithHint("`ramet track list` shows all")
			}
			return l.Print(show(e))
		},
	}
}

func interruptedCommand(l *Line, f *trackFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "interrupted",
		Short: "Show the newest sub-agent that can be resumed",
		Long: `Show the newest entry that is interrupted, or spawned with an owner that is dead or a
timeout that is over. Exit code 3 if there is none.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			v, judge, show, err := readEntries(l, c, f)
			if err != nil {
				return err
			}
			e, ok := v.Interrupted(judge)
			if !ok {
				return fault.New(fault.NotFound, "no sub-agent is interrupted").WithHint("`ramet track list` shows all")
			}
			return l.Print(show(e))
		},
	}
}

func historyCommand(l *Line, f *trackFlags) *cobra.Command {
	var plan string
	c := &cobra.Command{
		Use:   "history --plan NN",
		Short: "Show the sub-agents of a plan, oldest first",
		Args:  CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if plan == "" {
				return fault.New(fault.Usage, "%s: --plan is missing", c.CommandPath()).WithHint("usage: %s", c.UseLine())
			}
			v, _, show, err := readEntries(l, c, f)
			if err != nil {
				return err
			}
			var out trackedList
			for _, e := range v.Plan(plan) {
				out.entries = append(out.entries, show(e))
			}
			return l.Print(out)
		},
	}
	c.Flags().StringVar(&plan, "plan", "", "number of the plan, such as 02")
	return c
}

func listLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var status string
	c := &cobra.Command{
		Use:   "list",
		Short: "Show all sub-agents, oldest first",
		Args:  CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			v, _, show, err := readEntries(l, c, f)
			if err != nil {
				return err
			}
			var out trackedList
			for _, e := range v.Entries() {
				if status == "" || string(e.Status) == status {
					out.entries = append(out.entries, show(e))
				}
			}
			// Others may write statuses that are not ours; a word that nobody wrote is a slip.
			if c.Flags().Changed("status") && len(out.entries) == 0 && !ledger.Status(status).Known() {
				return fault.New(fault.Usage, "--status %.40q is no status", status).WithHint("use %s", statusWords())
			}
			return l.Print(out)
		},
	}
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
