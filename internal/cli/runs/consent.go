package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/rundir"
	"ramet/internal/trust"
)

// consent asks whether a run may be carried out that is not this home's own, and gives
// the name of what was consented to; empty: it is our own. Nothing is changed.
func consent(l *line.Line, ctx context.Context, store *rundir.Store, runID string, kind rundir.Kind, accept string) (string, error) {
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
	list, err := wouldRun(store, runID)
	if err != nil {
		return "", errors.Join(why, err)
	}
	if !l.JSON {
		io.WriteString(l.Stderr, list)
	}
	f, _ := fault.Of(why)
	if l.Password == nil || l.JSON || accept != "" {
		return "", f.WithHint("look at what it would do; to consent: ramet run resume %s --accept %s", runID, digest)
	}
	fmt.Fprintln(l.Stderr, f.Message)
	if !l.Yes("Carry it out all the same? [y/N] ") {
		return "", f.WithHint("nothing was done")
	}
	return digest, nil
}

// wouldRun lists what a run would do, a line each.
func wouldRun(store *rundir.Store, runID string) (string, error) {
	config, err := store.Config(runID)
	if err != nil {
		return "", err
	}
	r, err := kept(runID, config)
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
