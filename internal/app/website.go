package app

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/mcpserver"
	"ramet/internal/face/web"
	"ramet/internal/kernel"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
)

// website serves the page and the HTTP API of all workspaces of a host at one address. It listens once a client asks for
// it, and from the start if browsers have sessions that an earlier host made.
type website struct {
	host *host

	mu      sync.Mutex
	server  *httpapi.Server // nil: nothing listens
	address string
	base    string
	end     func() // closes the server and waits for it
	served  []*serving
}

// serving is a request of `ramet serve`, until it ends.
type serving struct {
	one   *hostedWorkspace
	hosts []string
}

// open listens, unless the server does. An address that is given is listened at, or CONFLICT: another `ramet serve` uses
// the present one.
func (w *website) open(ctx context.Context, in cli.ServeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		_, port, _ := net.SplitHostPort(in.Addr)
		switch {
		case in.Addr == "" || in.Addr == w.address || port == "0" && !in.Remote:
			return nil
		case len(w.served) > 0:
			return fault.New(fault.Conflict, "the background kernel serves at %s already", w.base).
				WithHint("leave out --addr, or end the other `ramet serve` first")
		}
		w.end()
		w.server = nil
	}
	listener, err := w.listen(ctx, in)
	if err != nil {
		return err
	}
	w.address, w.base = listener.Addr().String(), httpapi.URL(listener.Addr())
	server := httpapi.New(httpapi.Options{Version: version, Token: w.host.o.Token, Sessions: w.host.o.Sessions, Projects: w,
		Addr: listener.Addr(), Hosts: w.hosts(), Page: web.Handler(), Panicked: func(route string, stack []byte) {
			w.host.o.Note("a request panicked: " + route)
			for line := range strings.Lines(string(stack)) {
				w.host.o.Note(line)
			}
		}})
	life, stop := context.WithCancel(w.host.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(life, listener); err != nil {
			w.host.o.Note(err.Error())
		}
	}()
	w.server, w.end = server, func() { stop(); <-ended }
	w.host.o.Note("the page is at " + w.base)
	return nil
}

// listen opens the address that is asked for, else that of earlier sessions, else the usual one, else a free port.
func (w *website) listen(ctx context.Context, in cli.ServeRequest) (net.Listener, error) {
	if in.Addr != "" {
		return httpapi.Listen(ctx, in.Addr, in.Remote)
	}
	addr, ok := httpapi.LastAddress(w.host.o.Sessions)
	if !ok {
		addr = httpapi.DefaultAddr
	}
	listener, err := httpapi.Listen(ctx, addr, in.Remote)
	if fault.Is(err, fault.Locked) {
		listener, err = httpapi.Listen(ctx, "127.0.0.1:0", false)
	}
	return listener, err
}

// hosts returns the names that the requests of `ramet serve` gave; w is locked.
func (w *website) hosts() (out []string) {
	for _, one := range w.served {
		out = append(out, one.hosts...)
	}
	return out
}

// serve opens a workspace to the page, and answers where it is. Unless the request is only for a link, it continues until
// the client leaves or the host ends.
func (w *website) serve(out http.ResponseWriter, r *http.Request) {
	var in cli.ServeRequest
	err := json.NewDecoder(http.MaxBytesReader(out, r.Body, 1<<20)).Decode(&in)
	if err == nil && in.Addr != "" {
		err = w.open(r.Context(), in) // an address that is wrong opens no workspace
	}
	var one *hostedWorkspace
	if err == nil {
		one, err = w.host.open(r.Context(), in.OpenRequest)
	}
	if err == nil {
		err = w.open(r.Context(), in)
	}
	if err == nil {
		_, err = w.prepare(r.Context(), one)
	}
	if err != nil {
		control.WriteAnswer(out, nil, err)
		return
	}
	w.lend(one, in.Environment)
	asked := &serving{one, in.Hosts}
	if in.Keep != "" {
		w.add(asked)
	}
	control.WriteAnswer(out, w.link(one), nil)
	if in.Keep != cli.KeepClient {
		return
	}
	defer w.remove(asked)
	if http.NewResponseController(out).Flush() != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-w.host.ctx.Done():
		control.WriteAnswer(out, nil, fault.New(fault.Interrupted, "the background kernel ended: %w", context.Cause(w.host.ctx)))
	}
}

// lend lets the turns that are asked for over HTTP in a workspace use a client's environment.
func (w *website) lend(one *hostedWorkspace, env *kernel.Environment) {
	if env != nil {
		one.Workspace.Models().For(env).HideKeys() // before anything of theirs is written
		one.environment.Store(env)
	}
}

func (w *website) add(s *serving) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served = append(w.served, s)
	w.server.SetHosts(w.hosts())
}

func (w *website) remove(s *serving) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served = slices.DeleteFunc(w.served, func(one *serving) bool { return one == s })
	if w.server != nil {
		w.server.SetHosts(w.hosts())
	}
}

// link returns the address of a workspace's page, and a link that opens it once.
func (w *website) link(one *hostedWorkspace) cli.Served {
	w.mu.Lock()
	defer w.mu.Unlock()
	code, until := w.server.LoginCode()
	base := w.base + "/p/" + one.key
	return cli.Served{URL: base, Login: base + httpapi.LoginPath(code), Until: until.UTC()}
}

// serves returns how many requests of `ramet serve` a workspace has.
func (w *website) serves(one *hostedWorkspace) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.served {
		if s.one == one {
			n++
		}
	}
	return n
}

func (w *website) url() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server == nil {
		return ""
	}
	return w.base
}

func (w *website) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		w.end()
	}
}

// prepare makes what answers the HTTP requests of a workspace, once.
func (w *website) prepare(ctx context.Context, one *hostedWorkspace) (*httpapi.Project, error) {
	one.preparing.Lock()
	defer one.preparing.Unlock()
	if p := one.project.Load(); p != nil {
		return p, nil
	}
	if w.host.ctx.Err() != nil {
		return nil, fault.New(fault.Interrupted, "the background kernel ends")
	}
	ws, r := one.Workspace, one.Service
	events, err := httpapi.StartEvents(ctx, httpapi.EventsOptions{Bus: &ws.Kernel.Events, Feed: ws.Store, Hide: ws.Secrets.All,
		Most: ws.Config.Number("max_behind"), Readers: ws.Config.Number("max_streams")})
	if err != nil {
		return nil, err
	}
	one.closing.add(func() error { events.Stop(); return nil })
	client := operation.Within(ws).OnRuns(r.Runs, r.Begin)
	client.Environment = one.environment.Load
	p := httpapi.NewProject(httpapi.Parts{
		Key: one.key, Telemetry: one.kept,
		Agents: httpapi.Agents{Client: client, Workspace: ws, Store: ws.Store, Events: events, Asks: one.asks},
		MCP: mcpserver.New(w.host.ctx, mcpserver.Options{Version: version, Workspace: ws, Begin: r.Begin,
			Runs: r.Runs, User: r.User}),
		Reach: func(ctx context.Context) error {
			_, err := ws.Store.Describe(ctx)
			return err
		},
		Attend: func() func() { return w.host.attend(one) },
	})
	one.project.Store(p)
	return p, nil
}

// find returns the workspace with a key if it is open. An empty key means that of the `ramet serve` that runs longest,
// else the only one. CONFLICT: there are several.
func (w *website) find(key string) (*hostedWorkspace, error) {
	if key != "" {
		return w.host.find(key), nil
	}
	w.mu.Lock()
	served := slices.Clone(w.served)
	w.mu.Unlock()
	if len(served) > 0 {
		return served[0].one, nil
	}
	switch all := w.host.all(); len(all) {
	case 0:
		return nil, fault.New(fault.NotFound, "no project is open").WithHint("`ramet web` opens one; its paths begin with /p/KEY")
	case 1:
		return all[0], nil
	}
	return nil, fault.New(fault.Conflict, "several projects are open, and the path names none").
		WithHint("begin it with /p/KEY; GET /api/v1/projects lists them")
}

func (w *website) HeldProject(key string) *httpapi.Project {
	if one, err := w.find(key); err == nil && one != nil {
		return one.project.Load()
	}
	return nil
}

func (w *website) OpenProject(ctx context.Context, key string) (*httpapi.Project, error) {
	one, err := w.find(key)
	if err != nil {
		return nil, err
	}
	if one == nil {
		known, err := w.known(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(known, func(p public.KnownProject) bool { return p.Key == key })
		if i < 0 || known[i].Gone {
			return nil, fault.New(fault.NotFound, "no project has the key %s", key).WithHint("GET /api/v1/projects lists them")
		}
		if one, err = w.host.open(ctx, cli.OpenRequest{Dir: known[i].Folder}); err != nil {
			return nil, err
		}
	}
	return w.prepare(ctx, one)
}

// ListProjects implements httpapi.Projects: first those that are open, then the others, the last used first.
func (w *website) ListProjects(ctx context.Context) ([]public.KnownProject, error) {
	known, err := w.known(ctx)
	if err != nil {
		return nil, err
	}
	out := []public.KnownProject{}
	for _, one := range w.host.all() {
		now := w.host.describe(one)
		out = append(out, public.KnownProject{Key: one.key, Name: now.Name, Folder: now.Folder, Open: true, Working: now.Working, Questions: now.Questions})
	}
	for _, p := range known {
		if !slices.ContainsFunc(out, func(open public.KnownProject) bool { return open.Key == p.Key }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// known lists the projects of the home, the last used first.
func (w *website) known(ctx context.Context) (out []public.KnownProject, err error) {
	all, err := w.host.o.Projects(ctx)
	for _, p := range all.Projects {
		place, err := w.host.o.Locate(cli.OpenRequest{Dir: p.Folder})
		if err != nil {
			continue // its own configuration is wrong: `ramet doctor` there says why
		}
		out = append(out, public.KnownProject{Key: keyOf(place), Name: p.Name, Folder: p.Folder, Gone: p.Gone})
	}
	return out, err
}

func (b *background) Serve(ctx context.Context, in cli.ServeRequest, ready func(cli.Served)) error {
	for {
		if err := b.ensure(ctx); err != nil {
			return err
		}
		err := b.serveOnce(ctx, &in, ready)
		if !errors.Is(err, errKernelDied) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// errKernelDied reports a kernel that died while it served.
var errKernelDied = errors.New("the background kernel died")

func (b *background) serveOnce(ctx context.Context, in *cli.ServeRequest, ready func(cli.Served)) error {
	answer, err := b.send(ctx, http.MethodPost, "/serve", in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := json.NewDecoder(answer.Body)
	for first := true; ; first = false {
		var served cli.Served
		switch err := decodeAnswer(lines, &served); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errUndecoded) && !first && in.Keep == cli.KeepClient:
			return errKernelDied
		case err != nil:
			return err
		}
		ready(served)
		if at, err := url.Parse(served.URL); err == nil && !in.Remote {
			in.Addr = at.Host // a kernel that is started again listens there
		}
		if in.Keep != cli.KeepClient {
			return nil
		}
	}
}
