package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
	"ramet/internal/model/catalog"
	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/store/database"
)

func startCommand(l *Line, f *runFlags, p RunsPorts) *cobra.Command {
	c := l.Command(&operation.StartRun)
	c.Example = `  ramet run start --repo .
  ramet run start --repo https://example.org/project.git --into ../project-docs
  ramet run start --recipe translate --repo . --set language=German --set to=README.de.md
  ramet run start --recipe fix --repo . --set issue="Sum of an empty list panics"`
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := l.Bind(c, &operation.StartRun, args)
		if err != nil {
			return err
		}
		o := in.(*operation.StartRunInput)
		if there, err := l.GoOn(c.Context(), o.Detach); there {
			return err
		}
		return start(l, p, c, f, *o)
	}
	return c
}

func start(l *Line, p RunsPorts, c *cobra.Command, f *runFlags, o operation.StartRunInput) error {
	config, err := newConfig(c.Context(), l, o)
	if err != nil {
		return err
	}
	text, err := config.Format()
	if err != nil {
		return err
	}
	store, err := l.Runs(f.dir)
	if err != nil {
		return err
	}
	kind, err := logOf(l, f)
	if err != nil {
		return err
	}
	runID := string(o.RunID)
	if runID == "" {
		runID = store.NewID(text)
	}
	if err := checkFits(c.Context(), l, p, config); err != nil {
		return err
	}
	if err := consentToStart(c.Context(), l, o, runID, config); err != nil {
		return err
	}
	if err := l.MakeRuns(f.dir); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	var x *rundir.Session
	made := false
	err = outlast(c.Context(), l, kind, func() (err error) {
		if made { // the server was lost behind that
			x, err = store.OpenSession(c.Context(), runID, kind)
			return err
		}
		defer func() { made = err != nil && store.Has(runID) }()
		x, err = store.Begin(c.Context(), runID, kind, text, map[string]any{
			"run_id": runID, "config_sha256": hex.EncodeToString(sum[:]), "recipe": config.Recipe})
		return err
	})
	if err != nil {
		return err
	}
	return carryOn(l, p, c.Context(), &o.CarryOptions, store, x, run.Wishes{})
}

// logOf returns the place of a new run's log: the agents' database, if several hosts share it.
func logOf(l *Line, f *runFlags) (rundir.Kind, error) {
	kind, err := f.kind()
	if err != nil || kind != "" {
		return kind, err
	}
	place, err := l.Place()
	if err != nil {
		return "", err
	}
	if database.IsPostgres(place.DB) {
		return rundir.Kind(place.DB), nil
	}
	return rundir.NDJSON, nil
}

// newConfig checks everything that can be checked before anything is made.
func newConfig(ctx context.Context, l *Line, o operation.StartRunInput) (rundir.Config, error) {
	text, err := loadRecipe(string(o.Recipe))
	if err != nil {
		return rundir.Config{}, err
	}
	r, err := recipe.Parse(text)
	if err != nil {
		return rundir.Config{}, err
	}
	if err := mergeLimits(&r.Limits, o.Limits); err != nil {
		return rundir.Config{}, err
	}
	set := map[string]string{}
	maps.Copy(set, o.Set)
	for _, given := range []struct{ name, flag, value string }{{"repo", "--repo", o.Repo}, {"into", "--into", o.Into}} {
		value, err := locateRepository(l, given.flag, given.value)
		if err != nil {
			return rundir.Config{}, err
		}
		if value != "" {
			set[given.name] = value
		}
	}
	params, err := r.Bind(set)
	if err != nil {
		return rundir.Config{}, err
	}
	values := r.Values(params, "")
	if err := r.CheckPaths(values); err != nil {
		return rundir.Config{}, err
	}
	if err := checkAddresses(r, values); err != nil {
		return rundir.Config{}, err
	}
	model := string(o.Model)
	if model != "" {
		if _, err := catalog.Parse(model); err != nil {
			return rundir.Config{}, err
		}
	}
	if text, err = withAgents(ctx, l, r, text); err != nil {
		return rundir.Config{}, err
	}
	if r, err = recipe.Parse(text); err != nil {
		return rundir.Config{}, err
	}
	if err := knownDrivers(ctx, l, r.Driven(params, model), !o.Leave); err != nil {
		return rundir.Config{}, err
	}
	return rundir.Config{Recipe: r.Name, Text: string(text), Model: model, NoCache: o.NoCache, Set: set}, nil
}

// checkAddresses refuses addresses of repositories that git is never given. The configuration keeps
// parameters as they are, and nobody can change them there: an address with a password would lie
// in it, and no resume could help.
func checkAddresses(r *recipe.Recipe, values map[string]string) error {
	for _, w := range r.Workers {
		if w.Uses == "" {
			continue
		}
		for _, name := range []string{"repo", "into"} {
			address, err := recipe.ExpandText(w.With[name], "", values)
			if err != nil {
				return err
			}
			if address == "" {
				continue
			}
			_, err = git.Locate(address)
			if f, ok := fault.Of(err); ok {
				return f.WithHint("%s; nothing was started", f.Hint)
			}
		}
	}
	return nil
}

// withAgents puts the definitions of agents that workers name into the text of the run's recipe:
// what they are does not change with the files.
func withAgents(ctx context.Context, l *Line, r *recipe.Recipe, text []byte) ([]byte, error) {
	names := r.Undefined()
	if len(names) == 0 {
		return text, nil
	}
	ws, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := ws.Agents().WorkerRoles(names)
	if err != nil {
		return nil, err
	}
	return recipe.AddAgents(text, agents)
}

// knownDrivers refuses workers whose driver nobody knows; with installed, also those whose program is not here.
func knownDrivers(ctx context.Context, l *Line, workers []recipe.DrivenWorker, installed bool) error {
	if len(workers) == 0 {
		return nil
	}
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	return ws.Programs().CheckDrivers(workers, installed)
}

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
		store, kind, err := f.open(l)
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
