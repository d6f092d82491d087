package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// host is the background kernel: one process per user, home and machine that holds the workspaces its clients opened.
// It answers on a socket of the user's.
//
// Each workspace is opened once, by the first client that names it, in a goroutine of its own: one that cannot be
// opened, or whose server does not answer, delays no other. The host ends when nothing keeps it for a while.
type host struct {
	o        cli.HostOptions
	ctx      context.Context
	end      context.CancelCauseFunc
	listener *control.Listener
	started  time.Time

	web *website

	mu         sync.Mutex
	workspaces map[string]*hostedWorkspace // by key
	commands   int                         // of clients that are being carried out
	idleSince  time.Time
	failed     bool // a workspace was closed because its disk failed
}

// hostedWorkspace is a workspace that is open, or being opened.
type hostedWorkspace struct {
	key    string
	opened chan struct{} // closed when what follows is set
	err    error
	cli.HostedWorkspace
	*service
	terminals   http.Handler
	environment atomic.Pointer[kernel.Environment] // of turns that are asked for over HTTP

	preparing sync.Mutex
	project   atomic.Pointer[httpapi.Project] // answers HTTP; nil: nothing asked yet

	clients int   // guarded by host.mu
	failed  error // why it was closed for good; guarded by host.mu
}

// runHost runs the background kernel until ctx ends, a client stops it, or it was idle for long enough.
func runHost(ctx context.Context, o cli.HostOptions) error {
	listener, err := o.Place.Hold()
	if fault.Is(err, fault.Locked) {
		o.Note("Another background kernel was started first; this one ends.")
		return cli.Exited(fault.Exit(err))
	}
	if err != nil {
		return err
	}
	h := &host{o: o, listener: listener, started: time.Now().UTC(), workspaces: map[string]*hostedWorkspace{}}
	h.web = &website{host: h}
	h.ctx, h.end = context.WithCancelCause(ctx)
	defer h.end(nil)
	if _, lives := httpapi.LastAddress(o.Sessions); lives { // browsers try to connect again, before any client asks for another address
		if err := h.web.open(h.ctx, cli.ServeRequest{}); err != nil {
			o.Note(err.Error())
		}
	}
	server := http.Server{Handler: h.routes(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(os.Stderr, "", 0)} // the log has the output of the process
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener.Acceptor()) }()
	o.Note(fmt.Sprintf(control.LogStarted+"%s, process %d", version, os.Getpid()))
	control.Ready(o.Getenv)
	go h.watchIdle()
	select {
	case err = <-served:
	case <-h.ctx.Done():
		err = nil
	}
	o.Note(control.LogEnds + context.Cause(h.ctx).Error())
	closeServer(&server)
	h.web.close()
	err = errors.Join(err, h.close())
	listener.Lived()
	return errors.Join(err, listener.Close())
}

// closeServer closes a server after a moment, in which answers that have begun are sent.
func closeServer(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		s.Close() // streams do not end by themselves
	}
}

// routes answers clients on the user's socket.
func (h *host) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { control.WriteAnswer(w, h.status(), nil) })
	mux.HandleFunc("POST /stop", h.stop)
	mux.HandleFunc("POST /serve", h.web.serve)
	mux.HandleFunc("POST /agents", h.listAgents)
	mux.HandleFunc("POST /open", func(w http.ResponseWriter, r *http.Request) {
		var in cli.OpenRequest
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in)
		var one *hostedWorkspace
		if err == nil {
			one, err = h.open(r.Context(), in)
		}
		if err != nil {
			control.WriteAnswer(w, nil, err)
			return
		}
		control.WriteAnswer(w, one.key, nil)
	})
	mux.HandleFunc("POST /command", h.command)
	mux.HandleFunc("/terminal/{key}/", func(w http.ResponseWriter, r *http.Request) {
		one := h.find(r.PathValue("key"))
		if one == nil {
			http.NotFound(w, r)
			return
		}
		defer h.attend(one)()
		ctx := history.By(r.Context(), history.Actor{Who: h.o.User, Face: history.Terminal})
		http.StripPrefix("/terminal/"+one.key, one.terminals).ServeHTTP(w, r.WithContext(ctx))
	})
	return mux
}

// command carries out a command line of a client, on the connection that asked for it.
func (h *host) command(w http.ResponseWriter, r *http.Request) {
	hold := func(ctx context.Context, in cli.OpenRequest) (*session.Workspace, error) {
		one, err := h.open(ctx, in)
		if err != nil {
			return nil, err
		}
		return one.Workspace, nil
	}
	carryOut(h.ctx, w, r, func(ctx context.Context, in cli.CommandRequest, s cli.Streams) int {
		h.count(1)
		defer h.count(-1)
		return h.o.Run(ctx, in, s, hold)
	})
}

// commandsFor carries out command lines that commands of agents give, on the workspace of their kernel.
func commandsFor(ctx context.Context, ws *session.Workspace) http.HandlerFunc {
	if ws.CommandFor == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) {
		caller, ok := control.CallerOf(r.Context())
		if !ok {
			control.WriteAnswer(w, nil, fault.New(fault.Denied, "no command that this kernel started asks"))
			return
		}
		carryOut(ctx, w, r, func(ctx context.Context, in cli.CommandRequest, s cli.Streams) int {
			a, err := ws.Store.Agent(ctx, id.AgentOf(caller.Mark))
			if err != nil {
				fmt.Fprintln(s.Stderr, err)
				return fault.Exit(err)
			}
			return ws.CommandFor(ctx, session.AgentCommand{Agent: a, Confined: caller.Confined, Args: in.Args, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
		})
	}
}

// carryOut reads a command line, takes over the connection and lets run carry it out.
func carryOut(ctx context.Context, w http.ResponseWriter, r *http.Request, run func(context.Context, cli.CommandRequest, cli.Streams) int) {
	var in cli.CommandRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand)).Decode(&in)
	if err == nil && in.Version != version {
		err = otherVersion(version, in.Version)
	}
	if err != nil {
		control.WriteAnswer(w, nil, err)
		return
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "ramet")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	serveClient(ctx, struct {
		io.Reader
		io.Writer
	}{buffered, conn}, in, func(ctx context.Context, s cli.Streams) int { return run(ctx, in, s) })
}

// maxCommand bounds a command line with its environment.
const maxCommand = 16 << 20

// count counts commands that are being carried out: they keep the host.
func (h *host) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands += n
}

// open returns a workspace, which it opens if none did. ctx bounds how long this client waits, not the opening.
func (h *host) open(ctx context.Context, in cli.OpenRequest) (*hostedWorkspace, error) {
	place, err := h.o.Locate(in)
	if err != nil {
		return nil, err
	}
	key := keyOf(place)
	h.mu.Lock()
	one := h.workspaces[key]
	if one == nil {
		one = &hostedWorkspace{key: key, opened: make(chan struct{})}
		h.workspaces[key] = one
		go h.start(one, in)
	}
	h.mu.Unlock()
	select {
	case <-one.opened:
		h.mu.Lock()
		defer h.mu.Unlock()
		return one, cmp.Or(one.err, one.failed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keyOf names a workspace on the user's socket and in paths of the page.
func keyOf(place config.WorkspaceLocation) string {
	sum := sha256.Sum256([]byte(place.DB + "\x00" + place.Project))
	return hex.EncodeToString(sum[:6])
}

// start opens a workspace. One that cannot be opened is forgotten: the next client tries again.
func (h *host) start(one *hostedWorkspace, in cli.OpenRequest) {
	defer close(one.opened)
	ctx := history.By(h.ctx, history.Actor{Who: h.o.User})
	done := h.listener.Working(in.Dir)
	defer done()
	one.HostedWorkspace, one.err = h.o.Open(ctx, in)
	if one.err == nil {
		one.service, one.err = startService(ctx, one.Workspace, one.Service, func() bool { return h.watches(one) })
		if one.err != nil {
			one.err = errors.Join(one.err, one.Close())
		}
	}
	if one.err != nil {
		h.o.Note(fmt.Sprintf("cannot open the workspace of %s: %v", in.Dir, one.err))
		h.mu.Lock()
		delete(h.workspaces, one.key)
		h.mu.Unlock()
		return
	}
	one.terminals = tui.Handler(one.forTerminals(one.Command))
	h.o.Note("opened the workspace of " + one.Workspace.Place.Project)
}

// find returns a workspace that is open; nil: there is none of that key.
func (h *host) find(key string) *hostedWorkspace {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.workspaces[key]
	if one == nil {
		return nil
	}
	select {
	case <-one.opened:
		if one.err != nil {
			return nil
		}
		return one
	default:
		return nil
	}
}

// closeFailed closes a workspace for good if a sync of its disk failed: its turns end, and no client can open it. The next
// kernel opens its database anew, and so reads what the disk has.
func (h *host) closeFailed(one *hostedWorkspace) (closed bool) {
	err := one.Workspace.Store.Failed()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || one.failed != nil {
		return err != nil
	}
	one.failed, h.failed = err, true
	h.o.Note(fmt.Sprintf("closes the workspace of %s for good: %v", one.Workspace.Place.Project, err))
	go one.Workspace.Kernel.Stop()
	return true
}

// attend counts a request of a client; the result ends it.
func (h *host) attend(one *hostedWorkspace) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.clients++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		one.clients--
	}
}

// watches reports whether a client shows the questions of a workspace: a terminal, the page, `ramet serve` or an editor.
func (h *host) watches(one *hostedWorkspace) bool {
	if h.web.serves(one) > 0 || one.Workspace.Forwards() {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return one.clients > 0
}

// all returns the workspaces that are open, by folder.
func (h *host) all() []*hostedWorkspace {
	h.mu.Lock()
	keys := make([]string, 0, len(h.workspaces))
	for key := range h.workspaces {
		keys = append(keys, key)
	}
	h.mu.Unlock()
	var out []*hostedWorkspace
	for _, key := range keys {
		if one := h.find(key); one != nil {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b *hostedWorkspace) int {
		return strings.Compare(a.Workspace.Place.Project, b.Workspace.Place.Project)
	})
	return out
}

func (h *host) status() public.BackgroundKernel {
	out := public.BackgroundKernel{Running: true, Version: version, PID: os.Getpid(), StartedAt: &h.started, Log: h.o.Place.Log(), Socket: h.o.Place.Socket(), URL: h.web.url(),
		Workspaces: []public.HeldWorkspace{}}
	for _, one := range h.all() {
		out.Workspaces = append(out.Workspaces, h.describe(one))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.idleSince.IsZero() && h.o.Idle > 0 {
		until := h.idleSince.Add(h.o.Idle).UTC()
		out.IdleUntil = &until
	}
	return out
}

func (h *host) describe(one *hostedWorkspace) public.HeldWorkspace {
	ws := one.Workspace
	out := public.HeldWorkspace{Key: one.key, Name: ws.Place.Name, Folder: ws.Place.Project, Questions: len(one.asks.List()), Served: h.web.serves(one)}
	for _, now := range ws.Kernel.States() {
		switch {
		case now.Busy():
			out.Working++
		case now.Commands != "" || now.Word == "":
			out.Commands++
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.Clients = one.clients; one.failed != nil {
		out.Failed = one.failed.Error()
	}
	return out
}

// listTime limits how long one project takes to list its agents.
const listTime = 3 * time.Second

// listAgents lists the agents of all workspaces side by side: one whose server does not answer delays no other.
func (h *host) listAgents(w http.ResponseWriter, r *http.Request) {
	var in operation.PsInput
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in); err != nil {
		control.WriteAnswer(w, nil, err)
		return
	}
	all := h.all()
	out := make([]cli.ProjectAgents, len(all))
	var work sync.WaitGroup
	for i, one := range all {
		work.Go(func() {
			ctx, cancel := context.WithTimeout(r.Context(), listTime)
			defer cancel()
			place := one.Workspace.Place
			out[i] = cli.ProjectAgents{Name: place.Name, Folder: place.Project, Open: true}
			cli.ListAgents(ctx, operation.Within(one.Workspace), in, &out[i])
		})
	}
	work.Wait()
	control.WriteAnswer(w, out, nil)
}

// stop ends the host. Unless it is forced, agents at work keep it.
func (h *host) stop(w http.ResponseWriter, r *http.Request) {
	now := h.status()
	working := 0
	for _, one := range now.Workspaces {
		working += one.Working + one.Commands
	}
	if working > 0 && r.URL.Query().Get("force") != "1" {
		control.WriteAnswer(w, nil, fault.New(fault.Conflict, "%d agents work in the background kernel", working).
			WithHint("--force interrupts them; `ramet exec --continue --all` continues them later"))
		return
	}
	control.WriteAnswer(w, now, nil)
	h.end(errors.New("a client stopped it"))
}

// idleCheck is the time between looks whether something keeps the host.
const idleCheck = time.Second

// watchIdle ends the host when nothing kept it for as long as the setting says.
func (h *host) watchIdle() {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			return
		}
		kept := false
		for _, one := range h.all() {
			kept = !h.closeFailed(one) && h.describe(one).Keeps() != "" || kept
		}
		h.mu.Lock()
		kept = kept || h.commands > 0
		switch now := time.Now().Round(0); { // the time in which the machine sleeps counts
		case kept:
			h.idleSince = time.Time{}
		case h.failed:
			h.end(errors.New("it closed a workspace for good, and nothing else keeps it"))
		case h.idleSince.IsZero():
			h.idleSince = now
		case h.o.Idle > 0 && now.Sub(h.idleSince) >= h.o.Idle:
			h.end(fmt.Errorf("nothing happened for %s", h.o.Idle))
		}
		h.mu.Unlock()
	}
}

// close closes all workspaces side by side: one whose server does not answer delays no other.
func (h *host) close() error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, one := range h.all() {
		all.Go(func() {
			err := errors.Join(one.closing.close(), one.Close())
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
