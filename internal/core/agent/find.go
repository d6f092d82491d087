package agent

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

const (
	minPrefix = 4
	maxListed = 8
)

// Find reads the agent a user means: `0`, a full uuid, the name of a living
// agent, the name of the one that died last, or a unique prefix of a uuid of
// four or more characters, in this order; so a name shadows a prefix.
func Find(ctx context.Context, d Directory, ref string) (Agent, error) {
	if ref == "0" {
		return d.Zero(ctx)
	}
	if full, err := id.ParseAgent(ref); err == nil {
		a, err := d.Agent(ctx, full)
		if !fault.Is(err, fault.NotFound) {
			return a, err
		}
	}
	if CheckName(ref) == nil {
		if a, ok, err := d.Named(ctx, ref); ok || err != nil {
			return a, err
		}
	}
	if !id.IsPrefix(ref) {
		return Agent{}, unknownAgent(ctx, d, ref)
	}
	if len(ref) < minPrefix {
		if near := unknownAgent(ctx, d, ref); near.Hint != noNames {
			return Agent{}, near
		}
		return Agent{}, fault.New(fault.InvalidID, "%q is too short for an agent's uuid", ref).
			WithHint("give at least %d characters of the uuid, or a name; `ramet ps --all` lists them", minPrefix)
	}
	found, err := d.Prefixed(ctx, ref, maxListed+1)
	if err != nil {
		return Agent{}, err
	}
	switch len(found) {
	case 0:
		return Agent{}, unknownAgent(ctx, d, ref)
	case 1:
		return found[0], nil
	}
	return Agent{}, fault.New(fault.Ambiguous, "%q fits several agents: %s", ref, listNames(found)).
		WithHint("give more characters")
}

func listNames(found []Agent) string {
	var b strings.Builder
	for i, a := range found {
		if i == maxListed {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(a.ID))
		if a.Name != "" {
			b.WriteString(" (" + a.Name + ")")
		}
	}
	return b.String()
}

const noNames = "`ramet ps --all` lists the agents"

func unknownAgent(ctx context.Context, d Directory, ref string) *fault.Error {
	err := fault.New(fault.NotFound, "no agent %q", text.Line(ref, 80))
	names, _ := d.Names(ctx) // where they cannot be had, none is near
	return err.WithHint("%s", text.NearestHint(ref, names, noNames))
}
