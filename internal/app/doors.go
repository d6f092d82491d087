package app

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/driver"
	"ramet/internal/driver/acp"
	"ramet/internal/driver/gateway"
	"ramet/internal/kernel"
	"ramet/internal/model/catalog"
)

// doors puts the kernel's gateway around the programs that drive agents: their vendors are reached
// through it, and ramet's own tools.
type doors struct {
	request request
	open    func(context.Context, gateway.Way) (*gateway.Door, error)

	environment func(agent.Agent) *kernel.Environment
}

// around opens a door for the program of an agent, and points the program at it.
func (d doors) around(ctx context.Context, a agent.Agent, p driver.Preset, env []string) (surroundings, error) {
	way := gateway.Way{Agent: a.ID, Driver: p.Name, Upstream: map[string]gateway.Upstream{}, Keys: map[string]string{}}
	bases := p.Bases
	if p.Direct {
		bases = nil
	}
	for _, b := range bases {
		to, err := upstream(b, env)
		if err != nil {
			return surroundings{}, err
		}
		if to.URL != nil {
			way.Upstream[b.Vendor] = to
		}
		if !p.Key {
			continue
		}
		if way.Keys[b.Vendor], err = d.key(b.Vendor, a); err != nil {
			return surroundings{}, err
		}
	}
	door, err := d.open(ctx, way)
	if err != nil {
		return surroundings{}, err
	}
	forget := d.request.Secrets.Also("gateway", door.Secrets()...) // programs put addresses into their errors, and print their environment
	out := surroundings{End: func() { door.Close(); forget() }}
	if at, ok := door.MCP(); ok {
		out.Servers = []acp.Server{{Name: "ramet", URL: at}}
	}
	for _, b := range bases {
		base, ok := door.Base(b.Vendor)
		if !ok {
			continue
		}
		pair, err := b.Point(instead(slices.Clone(env), out.Env), base+b.Path) // several may stand in one variable
		if err != nil {
			out.End()
			return surroundings{}, err
		}
		out.Env, out.Wire = instead(out.Env, []string{pair}), door.Total
		if p.Key && b.Key != "" {
			out.Env = append(out.Env, b.Key+"=ramet") // it wants one; ours is put in on the way
		}
	}
	return out, nil
}

// upstream returns the URL that the user configured for a program, or the vendor's own.
func upstream(b driver.PresetBase, env []string) (gateway.Upstream, error) {
	text, err := b.Address(env)
	if err != nil || text == "" {
		return gateway.Upstream{}, err
	}
	at, err := url.Parse(text)
	if err != nil || at.Host == "" {
		return gateway.Upstream{}, fault.New(fault.InvalidConfig, "%s contains no address: %.200q", b.Variable, text)
	}
	out := gateway.Upstream{URL: at}
	if bare, ok := strings.CutSuffix(strings.TrimSuffix(at.Path, "/"), b.Path); ok {
		at.Path = bare
	} else {
		out.Strip = b.Path
	}
	return out, nil
}

// key is ramet's own of a vendor.
func (d doors) key(vendor string, a agent.Agent) (string, error) {
	v, err := catalog.Find(vendor)
	if err != nil {
		return "", err
	}
	key := keysFor(d.request.Keys, d.environment(a)).Access(v).Key
	if key.IsZero() {
		return "", fault.New(fault.ProviderAuth, "there is no key of %s to put in", v.Title).
			WithHint("`ramet login %s`, or key = false where the program has a login of its own", vendor)
	}
	return key.Reveal(), nil
}

// instead is an environment in which some variables have other values.
func instead(env, pairs []string) []string {
	named := func(pair string) string { name, _, _ := strings.Cut(pair, "="); return name }
	env = slices.DeleteFunc(env, func(pair string) bool {
		return slices.ContainsFunc(pairs, func(p string) bool { return named(p) == named(pair) })
	})
	return append(env, pairs...)
}

// bodies takes the secrets out of what goes through the gateway; nil: it is not kept.
func bodies(r request) func(string) string {
	if r.Config.GatewayBodies != "yes" {
		return nil
	}
	return r.Secrets.All
}
