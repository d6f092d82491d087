package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/store/database"
)

func resumeRunCommand(l *Line, f *runFlags, p RunsPorts) *cobra.Command {
	c := l.Command(&operation.ResumeRun)
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := l.Bind(c, &operation.ResumeRun, args)
		if err != nil {
			return err
		}
		o := in.(*operation.ResumeRunInput)
		runID, wishes := string(o.ID), run.Wishes{Redo: o.Redo, Force: o.Force, FromFailed: o.FromFailed}
		if there, err := l.GoOn(c.Context(), o.Detach); there {
			return err
		}
		store, err := l.Runs(f.dir)
		if err != nil {
			return err
		}
		kind, err := f.kind()
		if err != nil {
			return err
		}
		agreed, err := consent(l, c.Context(), store, runID, kind, o.Accept)
		if err != nil {
			return err
		}
		x, err := store.OpenSession(c.Context(), runID, kind)
		if err != nil {
			return err
		}
		if agreed != "" {
			if err := x.Adopt(c.Context(), agreed); err != nil {
				return errors.Join(err, x.Close())
			}
		}
		if x.Repaired != "" {
			fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
		}
		place, err := l.Place()
		if err == nil && database.SameSchema(string(x.Kind), place.DB) {
			var home bool
			if home, err = p.Fetch(c.Context(), place.DB, store, x); err == nil && home {
				return errors.Join(l.Print(runEnd(store, x.Now())), x.Close())
			}
		}
		if err != nil {
			return errors.Join(err, x.Close())
		}
		if x.CurrentState() == run.Done { // which carry refuses
			return errors.Join(carryOutRun(l, p, c.Context(), &o.CarryOptions, store, x, wishes), x.Close())
		}
		return carryOn(l, p, c.Context(), &o.CarryOptions, store, x, wishes)
	}
	return c
}
