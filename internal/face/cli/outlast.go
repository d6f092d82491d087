package cli

import (
	"context"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// How long a run whose server is out of reach tries to go on by itself, and how long it rests
// in between.
const (
	outlastTime  = 2 * time.Minute
	outlastPause = time.Second
)

// outlast repeats do while a server is out of reach that this process has met, for outlastTime, and when the run's own
// agent ended though nobody cancelled the run. A server that was never met fails at once: the address may be wrong.
func outlast(ctx context.Context, l *Line, kind rundir.Kind, do func() error) error {
	for until := time.Now().Add(outlastTime); ; {
		err := do()
		switch {
		case errors.Is(err, runner.ErrAgentEnded):
			l.Note("the run goes on with another agent: " + err.Error())
		case fault.Is(err, fault.StorageUnreachable) && metAt(kind) && time.Now().Before(until):
			l.Note("the run goes on when the database is there: " + err.Error())
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(outlastPause):
		}
	}
}

func metAt(kind rundir.Kind) bool {
	if !kind.Remote() {
		return false
	}
	pg, err := database.ParsePostgres(string(kind))
	return err == nil && database.Met(pg)
}

// carryOn carries out a run, and goes on with it when its server was out of reach. It closes
// the session.
func carryOn(l *Line, ports RunsPorts, ctx context.Context, f *operation.CarryOptions, store *rundir.Store, x *rundir.Session, wishes run.Wishes) error {
	id, kind := x.RunID, x.Kind
	return outlast(ctx, l, kind, func() (err error) {
		if x == nil {
			if x, err = store.OpenSession(ctx, id, kind); err != nil {
				return err
			}
		}
		defer func() { err, x = errors.Join(err, x.Close()), nil }()
		if x.CurrentState() == run.Done {
			return l.Print(runEnd(store, x.Now()))
		}
		err = carryOutRun(l, ports, ctx, f, store, x, wishes)
		wishes = run.Wishes{}
		return err
	})
}
