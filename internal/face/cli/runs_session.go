package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/run/rundir"
	"ramet/internal/store/database"
)

// runFlags are those of all run commands.
type runFlags struct {
	dir, log string
}

// kind is the user's word on where the log is.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || database.IsPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is no kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

// newKind returns the kind of a new run's log.
func (f *runFlags) newKind() (rundir.Kind, error) {
	k, err := f.kind()
	if k == "" {
		k = rundir.NDJSON
	}
	return k, err
}

type openSession func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error)

// withSession opens a run for appending, with one of the store's ways to do that,
// and says if its tail had to be repaired.
func withSession(l *Line, c *cobra.Command, f *runFlags, runID string, open openSession, do func(*rundir.Session) error) error {
	store, err := l.Runs(f.dir)
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
		fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
	}
	return errors.Join(do(x), x.Close())
}

func withReader(l *Line, c *cobra.Command, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, err := l.Runs(f.dir)
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
