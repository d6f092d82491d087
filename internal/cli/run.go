package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/rundir"
	"ramet/internal/workspace"
)

// runFlags are those of all run commands.
type runFlags struct {
	dir, log string
}

func (s *session) runCommand() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Orchestrated runs and their event logs",
		Long: `Carry out a recipe with agents as workers: start, resume, cancel. Everything that a
run does is in an append-only, hash-chained log: follow it, replay it, and prove that
nobody changed it. Any program, in any language, can use such a log as its own audit
trail: init, append, verify.`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	c.AddCommand(s.runStart(f), s.runResume(f), s.runCancel(f), s.runRecipes(), s.runRecipe(), s.runInit(f), s.runAppend(f), s.runEvents(f), s.runShow(f), s.runList(f), s.runReplay(f), s.runPlan(f),
		s.runVerify(f), s.runExport(f), s.runImport(f), s.runFork(f))
	return c
}

// kind is the user's word on where the log is.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || isPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is no kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

func isPostgres(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// newKind is where a new run's log goes.
func (f *runFlags) newKind() (rundir.Kind, error) {
	k, err := f.kind()
	if k == "" {
		k = rundir.NDJSON
	}
	return k, err
}

// runs is the folder of the runs.
func (s *session) runs(f *runFlags) (*rundir.Store, error) {
	root := f.dir
	if root == "" {
		root = s.Getenv("RAMET_RUNS")
	}
	if root == "" {
		project, err := workspace.Project(s.Dir)
		if err != nil {
			return nil, err
		}
		root = filepath.Join(project, ".ramet", "runs")
	} else if !filepath.IsAbs(root) {
		root = filepath.Join(s.Dir, root)
	}
	return &rundir.Store{Root: root, Logs: s.Logs, Key: s.signingKey, Now: s.Now}, nil
}

// makeRamet makes the project's .ramet folder, which git is to ignore.
func (s *session) makeRamet(f *runFlags) error {
	if f.dir != "" || s.Getenv("RAMET_RUNS") != "" {
		return nil
	}
	return makeProjectFolder(s.Dir)
}

// makeProjectFolder makes the .ramet folder of the project that dir is in.
func makeProjectFolder(dir string) error {
	project, err := workspace.Project(dir)
	if err != nil {
		return err
	}
	dir = filepath.Join(project, ".ramet")
	if err := durable.MakeFolder(dir, 0o755); err != nil {
		return err
	}
	err = durable.CreateFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

type openSession func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error)

// withSession opens a run for appending, with one of the store's ways to do that,
// and says if its tail had to be repaired.
func (s *session) withSession(c *cobra.Command, f *runFlags, runID string, open openSession, do func(*rundir.Session) error) error {
	store, err := s.runs(f)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	x, err := open(store, c.Context(), runID, kind)
	if err != nil {
		return err
	}
	if x.Repaired != "" {
		fmt.Fprintf(s.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
	}
	return errors.Join(do(x), x.Close())
}

func (s *session) withReader(c *cobra.Command, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, err := s.runs(f)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	r, err := store.Open(c.Context(), runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(store, r), r.Close())
}
