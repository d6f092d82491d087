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
		Long: `Take work items from the queues of a PostgreSQL database and do them, until stopped.
Any number of hosts can do this; they share nothing but the database: an item brings its
inputs and takes back what was made. A host that is killed or cut off loses its items to
others, and what it says too late is refused.

Commands run in the sandbox. Those with an external effect do not, and run only where
--external is given: anyone who can write the database could run any command here, with
your rights. Without it such items wait for a host that has it, and "ramet run show" says so.

With --orchestrate this host also takes up runs whose orchestrator is gone: it was not seen for
a lease (15 s) and did not say that it leaves, as Ctrl-C does. Their logs are in the database,
and so are copies of what they made; here they get a folder among the runs of this project.
Whoever was only slow is refused from then on (FENCED). Runs that act outside are taken up only
with --external, too. ` + "`ramet run resume ID`" + ` where a run was begun fetches what was made.

The models' keys are those of this host. Ctrl-C gives back what is being done.`,
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
	c.Flags().BoolVar(&external, "external", false, "also do what acts outside of runs, outside the sandbox")
	c.Flags().BoolVar(&orchestrate, "orchestrate", false, "also take up runs whose orchestrator is gone")
	c.Flags().IntVar(&parallel, "parallel", 4, "how many items at once")
	return c
}
