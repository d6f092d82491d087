package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/driver"
	"ramet/internal/driver/acp"
	"ramet/internal/driver/gateway"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
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
	hide, err := hidden(d.request.Workspace)
	if err != nil {
		return nil, err
	}
	keep, err := readOnly(d.request.Workspace, root)
	if err != nil {
		return nil, err
	}
	keep = append(keep[1:], filepath.Join(d.request.Place.Project, ".ramet")) // it commits, as it is used to
	box := &sandbox.Box{Network: true, Hide: hide, Write: []string{root}, Keep: keep,
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
