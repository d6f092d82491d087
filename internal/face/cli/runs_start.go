package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
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

// consent asks whether a run may be carried out that is not this home's own, and gives
// the name of what was consented to; empty: it is our own. Nothing is changed.
func consent(l *Line, ctx context.Context, store *rundir.Store, runID string, kind rundir.Kind, accept string) (string, error) {
	r, err := store.Open(ctx, runID, kind)
	if err != nil {
		return "", err
	}
	defer r.Close()
	why := r.Own(ctx)
	if why == nil || !fault.Is(why, fault.Untrusted) {
		return "", why
	}
	if err := l.Person("run resume of a run that is not yours"); err != nil {
		return "", err
	}
	digest, err := r.Consent(ctx)
	if err != nil || digest == accept {
		return digest, err
	}
	config, err := store.Config(runID)
	if err != nil {
		return "", errors.Join(why, err)
	}
	list, err := wouldRun(runID, config)
	if err != nil {
		return "", errors.Join(why, err)
	}
	f, _ := fault.Of(why)
	return digest, ask(l, list, f, accept, "ramet run resume "+runID+" --accept "+digest)
}

// consentToStart asks before a run is started whose recipe is a file that acts outside of the run:
// it may have come with a repository. Each recipe is asked for once, by its bytes. Recipes that are
// built in are ramet's own.
func consentToStart(ctx context.Context, l *Line, o operation.StartRunInput, runID string, config rundir.Config) error {
	r, err := ReadStartedRecipe(runID, config)
	if err != nil || slices.Contains(recipe.EmbeddedNames(), string(o.Recipe)) || !slices.ContainsFunc(r.Workers, func(w recipe.Worker) bool { return w.External }) {
		return err
	}
	home, err := l.HomeDir()
	if err != nil {
		return err
	}
	digest := trust.RecipeDigest(config.Text)
	if known, err := trust.AcceptsRecipe(home, digest); known || err != nil {
		return err
	}
	if err := l.Person("run start of a recipe that acts outside of the run"); err != nil {
		return err
	}
	if accept := o.Accept; accept != digest {
		list, err := wouldRun(runID, config)
		if err != nil {
			return err
		}
		f := fault.New(fault.Untrusted, "recipe %s acts outside the sandbox, and you have not consented to it", trust.Reveal(string(o.Recipe)))
		if err := ask(l, list, f, accept, "ramet run start --recipe "+trust.Reveal(string(o.Recipe))+" --accept "+digest); err != nil {
			return err
		}
	}
	return trust.AcceptRecipe(ctx, home, digest)
}

// ask shows what a run would do and asks whether it may. Where no person can answer, the error names
// the command that consents.
func ask(l *Line, list string, why *fault.Error, accept, command string) error {
	if !l.JSON {
		io.WriteString(l.Stderr, list)
	}
	if l.Password == nil || l.JSON || accept != "" {
		return why.WithHint("look at what it would do; to consent: %s", command)
	}
	fmt.Fprintln(l.Stderr, why.Message)
	if !l.Yes("Carry it out all the same? [y/N] ") {
		return why.WithHint("nothing was done")
	}
	return nil
}

func wouldRun(runID string, config rundir.Config) (string, error) {
	r, err := ReadStartedRecipe(runID, config)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	say := func(who, how, what string) {
		if what != "" {
			how += ": " + what
		}
		fmt.Fprintf(&b, "%-12s %s\n", trust.Reveal(who), strings.ReplaceAll(strings.TrimSpace(trust.Reveal(how)), "\n", "\n             "))
	}
	fmt.Fprintf(&b, "run %s of recipe %s would do:\n", runID, trust.Reveal(r.Name))
	for _, w := range r.Workers {
		switch {
		case w.Uses != "":
			say(w.Name, "built in", w.Uses)
		case w.Prompt != "":
			say(w.Name, "an agent with tools "+strings.Join(w.Tools, ", "), firstLine(w.Prompt))
			if role, ok := r.Agents[w.Agent]; ok {
				say(w.Name, "as agent "+role.Name, firstLine(role.Prompt))
			}
		case w.External:
			say(w.Name, "outside the sandbox, with your environment", w.Command)
		default:
			say(w.Name, "in the sandbox", w.Command)
		}
		if w.Lookup != "" {
			say(w.Name, "looked up outside the sandbox", w.Lookup)
		}
		for _, name := range slices.Sorted(maps.Keys(w.With)) {
			say(w.Name, "with "+name+"="+w.With[name], "")
		}
	}
	for _, g := range r.Gates {
		if g.Command != "" {
			say(g.Name, "as a check, in the sandbox", g.Command)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config.Set)) {
		fmt.Fprintf(&b, "%s = %s\n", trust.Reveal(name), trust.Reveal(config.Set[name]))
	}
	if config.Model != "" {
		fmt.Fprintf(&b, "model = %s\n", trust.Reveal(config.Model))
	}
	return b.String(), nil
}

func firstLine(s string) string {
	first, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more {
		first += " …"
	}
	return first
}
