package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/ledger"
)

// startFlags describe a sub-agent to spawn, resume and run.
type startFlags struct {
	ledger.Start
	ownerPID int
}

func (f *startFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Type, "type", "", "kind of agent, such as backend-specialist")
	c.Flags().StringVar(&f.Plan, "plan", "", "number of the plan, such as 02")
	c.Flags().StringVar(&f.Group, "group", "", "task group, such as \"API Endpoints\"")
	c.Flags().StringVar(&f.ID, "id", "", "id (default: one is drawn)")
	c.Flags().StringVar(&f.Description, "description", "", "what it is to do (default \"Execute plan NN: GROUP\")")
	c.Flags().Float64Var(&f.Minutes, "timeout", 0, "minutes that it may take")
}

func (f *startFlags) addOwner(c *cobra.Command) {
	c.Flags().IntVar(&f.ownerPID, "owner-pid", 0, "process that looks after it: when that is dead, the sub-agent is gone")
}

// start checks the flags and draws an id.
func (f *startFlags) start(c *cobra.Command, required ...string) (ledger.Start, error) {
	for _, name := range required {
		if c.Flags().Lookup(name).Value.String() == "" {
			return f.Start, fault.New(fault.Usage, "%s: --%s is missing", c.CommandPath(), name).WithHint("usage: %s", c.UseLine())
		}
	}
	if c.Flags().Changed("timeout") && !(f.Minutes > 0) {
		return f.Start, fault.New(fault.Usage, "--timeout %v is no time", f.Minutes).WithHint("give a positive number of minutes")
	}
	st := f.Start
	if st.ID == "" && !c.Flags().Changed("id") {
		st.ID = string(id.NewAgent())
	}
	if flag := c.Flags().Lookup("owner-pid"); flag != nil && flag.Changed {
		owner, err := ledger.FindOwner(f.ownerPID)
		if err != nil {
			return st, err
		}
		st.Owner = owner
	}
	return st, st.Check()
}

func spawnCommand(l *Line, f *trackFlags) *cobra.Command {
	var flags startFlags
	var c *cobra.Command
	c = l.command("spawn --type T --plan NN --group TEXT", "Register a sub-agent that is about to start; print its id", `Register a sub-agent before it starts, and print its id. When this fails, do not start
it. The id is drawn here (or given with --id); an id that is live is CONFLICT, exit 4.
Without --owner-pid its death goes unnoticed: then only --timeout ends it.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		st, err := flags.start(c, "type", "plan", "group")
		if err != nil {
			return nil, err
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		if err := makeState(l, f, l.Dir); err != nil {
			return nil, err
		}
		e, err := folder.Spawn(ctx, st)
		return aloneLedger(e, true), err
	})
	flags.add(c)
	flags.addOwner(c)
	return c
}
