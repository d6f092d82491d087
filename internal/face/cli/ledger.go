package cli

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// trackFlags choose the ledger.
type trackFlags struct {
	state string
	flag  *pflag.Flag // for state
}

// ledgerOf is the ledger that the flags choose, as seen from a folder.
func ledgerOf(l *Line, f *trackFlags, from string) (*ledger.Folder, error) {
	if f.flag.Changed && f.state == "" {
		return nil, fault.New(fault.Usage, "--state is empty").WithHint("give it a value, or leave it out")
	}
	project, err := config.ProjectFolder(from)
	if err != nil {
		return nil, err
	}
	dir := f.state
	switch {
	case dir == "":
		dir = filepath.Join(project, ".ramet")
	case !filepath.IsAbs(dir):
		here, err := filepath.EvalSymlinks(from)
		if err != nil {
			return nil, fault.New(fault.NotFound, "folder %s: %w", from, err)
		}
		dir = filepath.Join(here, dir)
	}
	if err := session.CheckInside(project, dir, "give the folder itself with --state"); err != nil {
		return nil, err
	}
	return ledger.FolderAt(dir, ledger.FolderOptions{Now: l.Now, Repaired: l.TellRepair, Project: project}), nil
}

// makeState makes the default folder as every .ramet is made.
func makeState(l *Line, f *trackFlags, from string) error {
	if f.state != "" {
		return nil
	}
	return session.MakeProjectFolder(from)
}

// completeTracked completes ids of the ledger that fit.
func completeTracked(l *Line, f *trackFlags, fits func(ledger.Status) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		v, err := folder.Read(context.WithoutCancel(c.Context()))
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for _, e := range v.Entries() {
			if fits(e.Status) {
				out = append(out, e.ID)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func trackCommand(l *Line) *cobra.Command {
	f := &trackFlags{}
	c := parent("track", "The ledger of spawned sub-agents", `Keep account of every sub-agent that is spawned, by whatever program: who runs, who
ended how, who was interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and
current-agent-id.txt, which other tools read and write too; what they add is kept.
Each command first repairs what it finds damaged, and says so on standard error.

spawned goes to completed, failed, timeout or interrupted; interrupted goes to
resumed or failed; the others are final.`,
		spawnCommand(l, f), trackMove(l, f, "complete", ledger.Completed, "Record that a sub-agent ended well"),
		trackMove(l, f, "fail", ledger.Failed, "Record that a sub-agent failed"),
		trackMove(l, f, "timeout", ledger.Timeout, "Record that a sub-agent used up its time"),
		trackMove(l, f, "interrupt", ledger.Interrupted, "Record that a sub-agent stopped in the middle; it can be resumed"),
		resumeLedgerCommand(l, f), runWithLedgerCommand(l, f), activeCommand(l, f), interruptedCommand(l, f), historyCommand(l, f), listLedgerCommand(l, f),
		recoverCommand(l, f), watchCommand(l, f), installLedgerCommand(l, f), uninstallCommand(l), hookCommand(l, f))
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	f.flag = c.PersistentFlags().Lookup("state")
	return c
}

// trackMove makes a command that takes an entry to another status.
func trackMove(l *Line, f *trackFlags, verb string, to ledger.Status, short string) *cobra.Command {
	var reason string
	var c *cobra.Command
	c = l.command(verb+" ID", short, short+`. The same status twice changes nothing.

It exits with 3 (NOT_FOUND), 4 (ILLEGAL_TRANSITION, which names the legal ones) or 6 (STORAGE_…).`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if c.Flags().Changed("reason") {
			if err := fault.CheckText(fault.InvalidText, "the reason", reason, 64<<10); err != nil {
				return nil, err
			}
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		e, err := folder.Move(ctx, args[0], to, reason)
		return aloneLedger(e, false), err
	})
	c.ValidArgsFunction = completeTracked(l, f, func(from ledger.Status) bool {
		return from == ledger.Spawned || from == ledger.Interrupted && to == ledger.Failed
	})
	c.Flags().StringVar(&reason, "reason", "", "why, in words")
	return c
}

func resumeLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var flags startFlags
	var c *cobra.Command
	c = l.command("resume ID", "Register a sub-agent that continues an interrupted one; print its id", `Mark ID as resumed and register a new sub-agent that continues it, with its type, plan
and description. ID must be interrupted, or spawned with an owner that is dead or a
timeout that is over; a completed or living one is ILLEGAL_TRANSITION, exit 4.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		st, err := flags.start(c)
		if err != nil {
			return nil, err
		}
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		e, err := folder.Resume(ctx, args[0], st)
		return aloneLedger(e, true), err
	})
	c.ValidArgsFunction = completeTracked(l, f, func(from ledger.Status) bool {
		return from == ledger.Spawned || from == ledger.Interrupted
	})
	flags.add(c)
	flags.addOwner(c)
	return c
}

// watchEvery is the interval at which watch reads one small file.
const watchEvery = time.Second

func watchCommand(l *Line, f *trackFlags) *cobra.Command {
	var once bool
	c := l.command("watch", "Mark sub-agents whose owner is dead or whose time is over as interrupted", `Look once a second for spawned sub-agents whose owner is dead or whose timeout is over,
mark them as interrupted, so that they can be resumed, and print each. It ends when it
is stopped; --once looks once.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			marked, err := folder.Sweep(ctx)
			for _, e := range marked {
				if err == nil {
					err = l.Printer().PrintLine(aloneLedger(e, false))
				}
			}
			if err != nil || once {
				return nil, err
			}
			select {
			case <-ctx.Done():
				return nil, nil
			case <-tick.C:
			}
		}
	})
	c.Flags().BoolVar(&once, "once", false, "look once, then end")
	return c
}

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
	c.Flags().StringVar(&f.Description, "description", "", "its task (default \"Execute plan NN: GROUP\")")
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

func recoverCommand(l *Line, f *trackFlags) *cobra.Command {
	return l.command("recover", "Make the two files of the ledger sound; say what was done", `Make the two files sound. A missing agent-history.json is made from the template. One
that cannot be read is kept as agent-history.json.corrupt-TIME and made again from a
whole temporary file, else from summaries/*-SUMMARY.md. A pointer to no entry is
repaired. Every other command does the same first, when it meets damage.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		if err := makeState(l, f, l.Dir); err != nil {
			return nil, err
		}
		r, err := folder.Recover(ctx)
		return recovered{r, folder.Dir()}, err
	})
}

// recovered is the datum of track recover.
type recovered struct {
	ledger.RepairResult
	dir string
}

func (r recovered) MarshalJSON() ([]byte, error) {
	return public.Marshal(struct {
		State   string  `json:"state"`
		Corrupt *string `json:"corrupt"`
		From    *string `json:"from"`
		Entries int     `json:"entries"`
		Pointer bool    `json:"pointer_repaired"`
	}{r.dir, public.Optional(r.Corrupt), public.Optional(r.From), r.Entries, r.RepairResult.Pointer})
}

func (r recovered) Text(w *printer.Writer) {
	said := []string{"ok: " + text.Count(r.Entries, "entry")}
	if r.Corrupt != "" {
		said = append(said, "made again from the "+r.From, "the old file is "+filepath.Base(r.Corrupt))
	}
	if r.RepairResult.Pointer {
		said = append(said, "the pointer named no entry and was repaired")
	}
	w.Line("%s", strings.Join(said, "; "))
}
