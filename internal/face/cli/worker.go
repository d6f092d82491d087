package cli

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

func workerCommand(l *Line, p RunsPorts) *cobra.Command {
	var host string
	var queues []string
	var parallel int
	var external, orchestrate bool
	c := &cobra.Command{
		Use:   "worker --db postgres://…",
		Short: "Work on items of runs from other hosts of the same database",
		Long: `Work on items from the queues of a PostgreSQL database until stopped. Any number of hosts can do this.
They share nothing but the database: an item includes its inputs, and its results go back with it. If a
host is killed or cut off, its items go to others, and its late results are refused.

Commands run in the sandbox, except those with an external effect, which run only with --external:
anyone who can write to the database could then run any command here with your rights. Without it,
such items wait for a host that has it, and "ramet run show" says so.

With --orchestrate, this host also takes over runs whose orchestrator is gone, that is, was not seen
for the time of a lease (15 s) and did not sign off, as Ctrl-C does. Their logs, and copies of what
they made, are in the database; here they get a folder among the runs of this project. An orchestrator
that was only slow is refused from then on (FENCED). Runs with external effects are taken over only
with --external. ` + "`ramet run resume ID`" + ` on the host where a run was started fetches the results.

Models are called with the keys of this host. Ctrl-C returns unfinished items to their queues.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if parallel < 1 || parallel > 1000 {
				return fault.New(fault.Usage, "--parallel %d is not between 1 and 1000", parallel)
			}
			if host == "" {
				name, err := os.Hostname()
				if err != nil {
					name = "host"
				}
				host = name + "-" + strconv.Itoa(os.Getpid())
			}
			if err := fault.CheckText(fault.InvalidName, "--host", host, 120); err != nil {
				return err
			}
			place, err := l.Place()
			if err != nil {
				return err
			}
			if !database.IsPostgres(place.DB) {
				return fault.New(fault.Usage, "worker: %s is not a database that several hosts can share", place.DB).
					WithHint("give --db postgres://user@host/database; a run on SQLite does its work itself")
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			o := Host{Name: host, Queues: queues, Parallel: parallel, External: external, Note: l.Note}
			if orchestrate {
				o.Orchestrate = l.Session
			}
			return p.Work(c.Context(), ws, o)
		},
	}
	c.Flags().StringVar(&host, "host", "", "name of this host (default: its own, with the process number)")
	c.Flags().StringSliceVar(&queues, "queues", []string{runner.Work}, "queues to take items from")
	c.Flags().BoolVar(&external, "external", false, "also run commands with external effects, outside the sandbox")
	c.Flags().BoolVar(&orchestrate, "orchestrate", false, "also take over runs whose orchestrator is gone")
	c.Flags().IntVar(&parallel, "parallel", 4, "number of concurrent items")
	return c
}
