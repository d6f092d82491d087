package app

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/driver/acp"
	"ramet/internal/driver/gateway"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// surroundings holds everything that ramet sets up around the program of one agent.
type surroundings struct {
	Env     []string     // addresses of vendors, which point at ramet; they count more than the user's
	Servers []acp.Server // MCP servers that it is told of
	// Wire returns the total of its model calls so far; nil if they aren't counted.
	Wire func(context.Context) gateway.Total
	End  func() // is called when the program has ended; nil: nobody is told
}

// drivers are the programs that drive agents in one kernel.
type drivers struct {
	request request
	// around is asked before the program of an agent starts, with its environment; nil: there is
	// nothing around it.
	around func(ctx context.Context, a agent.Agent, p driver.Preset, env []string) (surroundings, error)
	work   *runner.WorkerPool // nil: no agent works on items of runs
	pool   driver.Pool
	// environment returns the environment that an agent's program may use parts of; nil: that of this process.
	environment func(agent.Agent) *kernel.Environment
}

// model is the program behind driver/NAME; false: the reference names a model.
func (d *drivers) model(ref llm.Ref) (kernel.Model, bool, error) {
	name, model, ok := agent.SplitDriver(ref.Vendor, ref.Name)
	if !ok {
		return kernel.Model{}, false, nil
	}
	p, err := driver.FindPreset(name, d.request.Config.Drivers)
	if err != nil {
		return kernel.Model{}, true, err
	}
	if err := p.Installed(os.Environ()); err != nil {
		return kernel.Model{}, true, err
	}
	return kernel.Model{Ref: ref, Foreign: limitedForeign{
		&driver.Driven{Program: d.program(p), Model: model, Pool: &d.pool, Log: d.request.Store, Root: d.folder,
			Offered: func(o driver.Offer) { _ = d.request.Programs().Offers().Keep(p.Name, o) }}, d.request.Store}}, true, nil // faces show less then
}

// named returns the placeholder model of an agent that this program drives.
func (d *drivers) named(name string) (llm.Ref, error) {
	ref := driver.Ref(name, "")
	_, _, err := d.model(ref)
	return ref, err
}

func (d *drivers) installed() []string {
	var out []string
	for _, p := range driver.AllPresets(d.request.Config.Drivers) {
		if _, found := p.Path(os.Environ()); found && !p.Off {
			out = append(out, p.Name)
		}
	}
	return out
}

func (d *drivers) program(p driver.Preset) *acp.Program {
	return &acp.Program{Driver: p.Name, Version: version, Mode: p.Mode, Asks: p.AsksIn, Login: p.Login, Clean: d.request.Secrets.Own,
		Setup: func(ctx context.Context, a agent.Agent, mode string) (acp.Setup, error) {
			return d.setup(ctx, p, a, mode)
		}}
}

func (d *drivers) setup(ctx context.Context, p driver.Preset, a agent.Agent, mode string) (acp.Setup, error) {
	if a.ID == "" {
		return d.probe(p)
	}
	item, err := d.worksOnItem(a)
	if err != nil {
		return acp.Setup{}, err
	}
	root, err := d.folder(a)
	if err != nil {
		return acp.Setup{}, err
	}
	env := d.environment(a)
	out := acp.Setup{Args: p.Command, Dir: root, Env: p.Environment(launch.EnvironmentFor(variables(env)), variables(env)), Umask: umask(env)}
	if err := d.settle(p, root, a.ID, &out); err != nil {
		return out, err
	}
	if mark, ok := a.ID.Bytes(); ok {
		out.For, out.Socket = (*sandbox.Mark)(&mark), d.request.socket
	}
	confined, err := d.belowConfined(ctx, a)
	if err != nil {
		return out, err
	}
	if item || confined || p.Boxed(mode) { // nobody watches who works on an item
		if out.Box, err = d.box(p, root); err != nil {
			return out, err
		}
		if item {
			out.Box.Show = append(out.Box.Show, d.work.Shown()...)
		}
		if temp := sandbox.RealPath(temporaryFolder(d.request.Workspace, a.ID)); os.MkdirAll(temp, 0o700) == nil {
			out.Box.Temp = temp
		}
	}
	folder := filepath.Join(d.request.Home, "drivers")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return out, fault.New(fault.StorageIO, "start %s: %w", p.Name, err)
	}
	out.Errors = filepath.Join(folder, string(a.ID)+".stderr")
	if d.around == nil {
		return out, nil
	}
	s, err := d.around(ctx, a, p, out.Env)
	if err != nil {
		return out, err
	}
	out.Env = instead(out.Env, s.Env)
	if !item { // its work is that item, and no agents
		out.Servers = append(out.Servers, s.Servers...)
	}
	if out.Box == nil { // else it cannot reach ramet's home
		for i := range out.Servers {
			out.Servers[i].Command = d.ownServer()
		}
	}
	out.Wire, out.Ended = s.Wire, s.End
	return out, nil
}

func (d *drivers) worksOnItem(a agent.Agent) (bool, error) {
	if d.work == nil || a.ID == "" {
		return false, nil
	}
	return d.work.Belongs(a)
}

// folder returns the working folder of an agent's program: that of its item, else the agent's own.
func (d *drivers) folder(a agent.Agent) (string, error) {
	item, err := d.worksOnItem(a)
	if err != nil {
		return "", err
	}
	if item {
		return filepath.EvalSymlinks(a.Cwd)
	}
	return d.request.root(a)
}

// ownServer is ramet as an MCP server in a process of its own, for programs that cannot reach one over
// HTTP: whatever they start bears the agent's mark. Where the database has an address there may be
// a password in it: those go without.
func (d *drivers) ownServer() []string {
	exe, err := os.Executable()
	if err != nil || strings.Contains(d.request.Place.DB, "://") {
		return nil
	}
	return []string{exe, "--db", d.request.Place.DB, "--home", d.request.Home, "mcp", "serve"}
}

// box lets a program write its agent's folder and its own; it has the network, because its
// models are there.
func (d *drivers) box(p driver.Preset, root string) (*sandbox.Box, error) {
	if err := sandbox.Available(); err != nil {
		return nil, fault.New(fault.Denied, "%s has to be confined, because it does not ask before it changes anything or its parent is confined; that is not possible here: %w", p.Name, err).
			WithHint("box = false in [driver.%s] of your configuration lets it run all the same", p.Name)
	}
	hide, err := hidden(d.request.Workspace, p.Folders()...)
	if err != nil {
		return nil, err
	}
	keep, err := readOnly(d.request.Workspace, root)
	if err != nil {
		return nil, err
	}
	keep = append(keep[1:], filepath.Join(d.request.Place.Project, ".ramet")) // it commits, as it is used to
	box := &sandbox.Box{Network: true, Hide: hide, Write: []string{root}, Keep: keep, Show: []string{d.request.Place.Project},
		Guard: quarantine(d.request.Workspace), Guarded: []string{root}, Forbid: reserved(d.request.Workspace)}
	for _, folder := range p.Folders() {
		real, err := d.request.Writable(folder)
		if err == nil {
			box.Write = append(box.Write, real)
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return box, nil
}

// lookTime limits the time in which a program reports its version.
const lookTime = 90 * time.Second // on a machine where everybody starts at once

// knownDrivers lists the programs that can drive agents. With ask, those that are found say who they
// are, outside of the project; a program that the project names is not started for that.
func knownDrivers(ctx context.Context, ws *session.Workspace, ask bool) public.Drivers {
	d := &drivers{request: request{Workspace: ws}}
	all := driver.AllPresets(ws.Config.Drivers)
	out := public.Drivers{Drivers: make([]public.Driver, len(all))}
	var work sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, p := range all {
		one := &out.Drivers[i]
		*one = public.Driver{Name: p.Name, Title: p.Title, Command: append([]string{}, p.Command...), Install: public.Optional(p.Install),
			Login: public.Optional(p.Login), Mode: public.Optional(p.Mode), Asks: p.Asks, Boxed: p.Boxed(""), State: "missing", Can: []string{}}
		path, found := p.Path(os.Environ())
		if p.Off {
			one.State = "off"
			continue
		}
		if !found {
			continue
		}
		one.State, one.Path = "found", &path
		if !ask || p.Project {
			continue
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, lookTime)
			defer cancel()
			g, err := d.look(ctx, p, path)
			if err != nil {
				one.State, one.Why = "unusable", public.Optional(err.Error())
				return
			}
			one.State, one.Version = "ready", public.Optional(g.Version)
			for _, c := range []struct {
				word string
				can  bool
			}{{"resume", g.Resume}, {"load", g.Load}, {"fork", g.Fork}, {"images", g.Images}, {"mcp-http", g.HTTP}} {
				if c.can {
					one.Can = append(one.Can, c.word)
				}
			}
		})
	}
	work.Wait()
	return out
}

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

// key returns ramet's own key of a vendor.
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

// instead returns an environment in which some variables have other values.
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

// limitsOf returns the limits of an agent's tools, by roles and skills.
func limitsOf(log history.Log, a agent.Agent) ([]history.Limit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	all, err := registry.Limits(ctx, log, a.ID)
	out := make([]history.Limit, len(all))
	for i, l := range all {
		out[i] = l.Limit
	}
	return out, err
}

// limitedForeign is another program whose agent may be limited. What the program asks for is held
// against the limits of the agent's own definition. It does not ask for everything: an agent that
// was limited by its parent before it was born is not driven by one.
type limitedForeign struct {
	kernel.Foreign
	log history.Log
}

func (f limitedForeign) Run(ctx context.Context, a agent.Agent, t loop.Turn, c *loop.Conversation) (loop.Outcome, error) {
	limits, err := registry.Limits(ctx, f.log, a.ID)
	if err != nil {
		return loop.Outcome{}, err
	}
	var own []history.Limit
	for _, l := range limits {
		if l.Of != a.ID {
			return loop.Outcome{}, fault.New(fault.Denied, "agent %s has only the tools of %s, and %s does not keep to them", a.Label(), l.By, t.Ref.Name).
				WithHint("fork it from an agent that has all tools, or let ramet's own loop drive it")
		}
		own = append(own, l.Limit)
	}
	if len(own) > 0 {
		t.Guard = limitedGuard{t.Guard, own}
	}
	return f.Foreign.Run(ctx, a, t, c)
}

// limitedGuard refuses what limits leave out, before anybody is asked.
type limitedGuard struct {
	loop.Guard
	limits []history.Limit
}

func (g limitedGuard) Decide(ctx context.Context, spec tool.Spec, call tool.Call) (tool.Grant, *history.Permission, error) {
	judged := spec
	if spec.Access == tool.Processes {
		judged.Name = ownPrefix().ReplaceAllString(spec.Name, "")
	}
	for _, l := range g.limits {
		if !talk.Allows(l.Tools, judged, call.Args) {
			return "", nil, fault.New(fault.Denied, "%s is none of the tools of %s", judged.Name, l.By)
		}
	}
	return g.Guard.Decide(ctx, spec, call)
}

// ownPrefix matches the prefix that programs add to the names of ramet's own tools.
var ownPrefix = text.Regexp(`^(mcp__)?ramet(__|_|/|\.)`)
