package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/operation"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
)

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

// ask shows what a run would do and asks whether it may. Where nobody can answer, the error names
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
