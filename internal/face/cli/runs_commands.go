package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

func runsCommand(l *Line, p RunsPorts) *cobra.Command {
	f := &runFlags{}
	c := parent("run", "Orchestrated runs and their event logs", `Run recipes with agents as workers: start, resume, cancel. Everything that happens in a run
is written to an append-only, hash-chained log. You can follow the log, replay it, and prove
that it was not changed. Any program in any language can use such a log as its own audit
trail: init, append, verify.`)
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	l.OpenRuns = func() (*operation.Runs, error) {
		store, kind, err := f.open(l)
		return &operation.Runs{Store: store, Kind: kind, External: p.External}, err
	}
	c.AddCommand(startCommand(l, f, p), resumeRunCommand(l, f, p), l.Command(&operation.CancelRun), recipesCommand(l), recipeCommand(l), initCommand(l, f), appendEventCommand(l, f), l.Command(&operation.ReadRunEvents), l.Command(&operation.ShowRun), l.Command(&operation.ListRuns), replayCommand(l, f), planCommand(l, f, p),
		l.Command(&operation.VerifyRun), exportRunCommand(l, f), importRunCommand(l, f), l.Command(&operation.ForkRun), l.Command(&operation.RemoveRuns), newCommand(l), programCommand(l, p))
	for _, sub := range c.Commands() {
		if strings.Contains(sub.Use, " ID") {
			sub.ValidArgsFunction = completeRuns(l, f)
		}
	}
	return c
}

func completeRuns(l *Line, f *runFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.HasSuffix(c.Use, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := l.Runs(f.dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ids, err := store.List()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// RunProgram is a program of a recipe, called by its commands: in the folder where it is called,
// with its inputs below $RAMET_INPUTS, and variables.
type RunProgram func(ctx context.Context, dir, inputs string, l *Line) error

// programCommand makes the command that built-in recipes call ("$RAMET" run program docs plan);
// people do not type it. It opens no workspace: in the sandbox there is none.
func programCommand(l *Line, p RunsPorts) *cobra.Command {
	c := l.command("program RECIPE NAME", "Run a program of a recipe", "", 2, 2, func(ctx context.Context, args []string) (printer.Datum, error) {
		programs := p.Programs()
		do, ok := programs[strings.Join(args, " ")]
		if !ok {
			return nil, fault.New(fault.NotFound, "there is no program %.60q of a recipe %.60q", args[1], args[0]).
				WithHint("there are %s", strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil, fault.New(fault.Failed, "find the folder: %w", err)
		}
		return nil, do(ctx, dir, l.Getenv("RAMET_INPUTS"), l)
	})
	c.Hidden = true
	return c
}

type runFlags struct {
	dir, log string
}

// kind returns the kind of log that the user chose; empty: none.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || database.IsPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is not a kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

// open returns the folder of runs, and the kind of log that the user chose.
func (f *runFlags) open(l *Line) (*rundir.Store, rundir.Kind, error) {
	store, err := l.Runs(f.dir)
	if err != nil {
		return nil, "", err
	}
	kind, err := f.kind()
	return store, kind, err
}

// openNew returns what open does, for a new run.
func (f *runFlags) openNew(l *Line) (*rundir.Store, rundir.Kind, error) {
	store, kind, err := f.open(l)
	return store, cmp.Or(kind, rundir.NDJSON), err
}

// withSession opens a run with open, for appending, and reports if its tail had to be repaired.
func withSession(ctx context.Context, l *Line, f *runFlags, runID string, open func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error),
	do func(*rundir.Session) error) error {
	store, kind, err := f.open(l)
	if err != nil {
		return err
	}
	x, err := open(store, ctx, runID, kind)
	if err != nil {
		return err
	}
	if x.Repaired != "" {
		fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
	}
	return errors.Join(do(x), x.Close())
}

func withReader(ctx context.Context, l *Line, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, kind, err := f.open(l)
	if err != nil {
		return err
	}
	r, err := store.Open(ctx, runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(store, r), r.Close())
}

// RunsPorts carry out runs, in this process.
type RunsPorts struct {
	// Carry carries out a run until it is over or has to stop; nil only when it is DONE.
	Carry func(context.Context, *session.Workspace, Job) error
	// Windows returns how many tokens models can read; 0: unknown.
	Windows func(context.Context, *session.Session) (func(model string) int64, error)
	// Work takes items of runs from a database until ctx ends.
	Work func(context.Context, *session.Workspace, Host) error
	// External reports whether a host of a PostgreSQL database is alive that does what acts
	// outside of runs.
	External func(ctx context.Context, db string) (bool, error)
	// Fetch brings the files that other hosts of a PostgreSQL database made for a run. home: the run is DONE, and nothing
	// else is left to do.
	Fetch func(ctx context.Context, db string, store *rundir.Store, x *rundir.Session) (home bool, err error)
	// Programs are those of recipes, by recipe and name.
	Programs func() map[string]RunProgram
	// OpenAPI writes the description of the HTTP API.
	OpenAPI func() []byte
}

// Job is a run to be carried out by this process.
type Job struct {
	Store   *rundir.Store
	Session *rundir.Session // open: the run is ours
	Recipe  *recipe.Recipe
	Params  map[string]string
	Model   string // vendor/name; empty: the configured one
	Plan    run.Plan
	NoCache bool
	Leave   bool // the items to other hosts
	// Inherited: it was begun on another host, whose orchestrator is gone. It may act outside
	// of runs only if External says so, too.
	Inherited, External bool
	Watch               func(...run.Event)
	Warn                func(string)
}

// Host is a host that does items of runs.
type Host struct {
	Name     string // no two live ones share it
	Queues   []string
	Parallel int
	Note     func(string) // what happens, a line each
	External bool         // also what acts outside of runs, outside the sandbox
	// Orchestrate is the session in which the host also takes up runs whose orchestrators are gone; nil: it does not.
	Orchestrate *session.Session
}

func planCommand(l *Line, f *runFlags, ports RunsPorts) *cobra.Command {
	var wishes run.Wishes
	var model string
	c := l.command("plan ID", "Show what a resume would do", "", 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		return nil, withReader(ctx, l, f, args[0], func(store *rundir.Store, r *rundir.Reader) error {
			state, err := r.Truth(ctx)
			if err != nil {
				return err
			}
			config, failed := store.Config(r.RunID) // a run of another program has none
			made, old := ReadStartedRecipe(r.RunID, config)
			ours := failed == nil && old == nil
			if ours {
				wishes.LooksUp = made.LooksUp
			}
			p, err := run.PlanResume(state, store.Disk(r.RunID), wishes)
			if err != nil {
				return err
			}
			d := runPlan{Plan: p, Crowded: []runner.OversizedItem{}}
			if failed == nil && config.Text != "" && old != nil {
				d.Refused = old.Error()
			}
			if ours {
				config.Model = cmp.Or(model, config.Model)
				if err := d.measure(ctx, l, ports, store, config, state); err != nil {
					return err
				}
			}
			return l.Print(d)
		})
	})
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to repeat; may be repeated")
	c.Flags().BoolVar(&wishes.Force, "force", false, "repeat everything")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	c.Flags().StringVar(&model, "model", "", "vendor/name of the model for the resume")
	c.RegisterFlagCompletionFunc("model", cobra.NoFileCompletions)
	return c
}

type runPlan struct {
	run.Plan
	// Crowded are items that would be refused: they would be given too much.
	Crowded []runner.OversizedItem `json:"crowded"`
	// Refused is the reason why this version would not carry out the run at all.
	Refused string `json:"refused,omitempty"`
}

func (p *runPlan) measure(ctx context.Context, l *Line, ports RunsPorts, store *rundir.Store, config rundir.Config, state run.Snapshot) error {
	files, err := store.OpenFiles(p.RunID)
	if err != nil {
		return err
	}
	defer files.Close()
	all, err := crowdedRuns(ctx, l, ports, config, files, state, p.Plan)
	p.Crowded = append(p.Crowded, all...)
	return err
}

func (p runPlan) Text(w *printer.Writer) {
	w.Line("run %s is %s; it continues from %s", p.RunID, string(p.From), string(p.Resume))
	for _, x := range p.Skip {
		w.Line("skip     %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Discard {
		w.Line("discard  %s: interrupted", x.WorkItemID)
	}
	for _, x := range p.Queue {
		w.Line("queue    %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Unknown {
		w.Line("UNKNOWN  %s: %s", x.WorkItemID, x.Why)
	}
	if p.Refused != "" {
		w.Line("REFUSED  %s", p.Refused)
	}
	for _, x := range p.Crowded {
		w.Line("TOO MUCH %s", x.String())
	}
	for _, x := range p.Artifacts {
		w.Line("artifact %s (%s) %s", x.Name, x.Path, x.Why)
	}
}

// checkFits refuses a run that is not made yet and could not be carried out: an item would be given more
// than half of what its model can read, whatever the others make.
func checkFits(ctx context.Context, l *Line, p RunsPorts, config rundir.Config) error {
	if _, err := l.Open(ctx); err != nil { // the model may be that of agent 0
		return err
	}
	all, err := crowdedRuns(ctx, l, p, config, nil, run.Snapshot{}, run.Plan{})
	if err != nil {
		return err
	}
	return runner.RefuseOversized(all)
}

// crowdedRuns returns the items of a run that would be given too much.
func crowdedRuns(ctx context.Context, l *Line, p RunsPorts, config rundir.Config, files runner.Folder, now run.Snapshot, plan run.Plan) ([]runner.OversizedItem, error) {
	r, err := recipe.Parse([]byte(config.Text))
	if err != nil {
		return nil, err
	}
	o := runner.Options{Recipe: r, Model: config.Model}
	if o.Params, err = r.Bind(config.Set); err != nil {
		return nil, err
	}
	if o.Window, err = p.Windows(ctx, l.Session); err != nil {
		return nil, err
	}
	return runner.FindOversized(o, files, now, plan), nil
}

func workerCommand(l *Line, p RunsPorts) *cobra.Command {
	var host string
	var queues []string
	var parallel int
	var external, orchestrate bool
	c := l.command("worker --db postgres://…", "Work on items of runs from other hosts of the same database", `Work on items from the queues of a PostgreSQL database until stopped. Any number of hosts can do this.
They share nothing but the database: an item includes its inputs, and its results go back with it. If a
host is killed or cut off, its items go to others, and its late results are refused.

Commands run in the sandbox, except those with an external effect, which run only with --external:
anyone who can write to the database could then run any command here with your rights. Without it,
such items wait for a host that has it, and "ramet run show" says so.

With --orchestrate, this host also takes over runs whose orchestrator is gone, that is, was not seen
for the time of a lease (15 s) and did not sign off, as Ctrl-C does. Their logs, and copies of what
they made, are in the database; here they get a folder among the runs of this project. An orchestrator
that was only slow is refused from then on (FENCED). Runs with external effects are taken over only
with --external. `+"`ramet run resume ID`"+` on the host where a run was started fetches the results.

Models are called with the keys of this host. Ctrl-C returns unfinished items to their queues.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		if parallel < 1 || parallel > 1000 {
			return nil, fault.New(fault.Usage, "--parallel %d is not between 1 and 1000", parallel)
		}
		if host == "" {
			name, err := os.Hostname()
			if err != nil {
				name = "host"
			}
			host = name + "-" + strconv.Itoa(os.Getpid())
		}
		if err := fault.CheckText(fault.InvalidName, "--host", host, 120); err != nil {
			return nil, err
		}
		place, err := l.Place()
		if err != nil {
			return nil, err
		}
		if !database.IsPostgres(place.DB) {
			return nil, fault.New(fault.Usage, "worker: %s is not a database that several hosts can share", place.DB).
				WithHint("give --db postgres://user@host/database; a run on SQLite does its work itself")
		}
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		o := Host{Name: host, Queues: queues, Parallel: parallel, External: external, Note: l.Note}
		if orchestrate {
			o.Orchestrate = l.Session
		}
		return nil, p.Work(ctx, ws, o)
	})
	c.Flags().StringVar(&host, "host", "", "name of this host (default: its own, with the process number)")
	c.Flags().StringSliceVar(&queues, "queues", []string{runner.Work}, "queues to take items from")
	c.Flags().BoolVar(&external, "external", false, "also run commands with external effects, outside the sandbox")
	c.Flags().BoolVar(&orchestrate, "orchestrate", false, "also take over runs whose orchestrator is gone")
	c.Flags().IntVar(&parallel, "parallel", 4, "number of concurrent items")
	return c
}
