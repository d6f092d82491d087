package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/run/sqllog"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/store/postgres"
	"ramet/internal/turn/hook"
)

// carry carries out a run: orchestrator, queue, workers and gates of this process.
func carry(ctx context.Context, ws *session.Workspace, r cli.Job) (err error) {
	ctx = history.Unattended(ctx) // what a run does its orchestrator does
	closing := &closers{}
	defer func() { err = errors.Join(err, closing.close()) }()
	files, err := r.Store.OpenFiles(r.Session.RunID)
	if err != nil {
		return err
	}
	closing.add(files.Close)
	c := &carrier{Job: r, ws: ws, files: files, site: runner.Site{Dir: files.Dir(), Params: r.Params}, limits: r.Recipe.Limits.WithDefaults()}
	if err := c.start(ctx, closing); err != nil {
		return err
	}
	if err := c.takeAgent(ctx, closing); err != nil {
		return err
	}
	c.near = runner.NewMemoryQueue()
	closing.add(c.near.Close)
	if postgres.IsURL(ws.Place.DB) {
		if err := c.share(ctx, closing); err != nil {
			return err
		}
	}
	if err := c.bequeath(ctx); err != nil {
		return err
	}
	c.records = runRecordsOf(ctx, ws, r, closing)
	carried, err := runner.New(ctx, c.options(ctx))
	if err != nil {
		return err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go c.watch(watch, carried)
	err = carried.Execute(ctx, r.Plan, func(ctx context.Context) error { return c.serve(ctx, carried) })
	stop()
	if c.Session.CurrentState() == run.Failed {
		c.executor.Forget(c.Session.RunID)
	}
	if c.records != nil {
		c.records.end(ctx, c.Session, err)
	}
	c.waitForHooks(ctx)
	retired := c.retire(ctx, err)
	if err == nil && fault.Is(retired, fault.StorageUnreachable) {
		c.Warn("the run is DONE; what it left in the database is cleared later: " + retired.Error())
		return nil
	}
	return errors.Join(err, retired)
}

// carrier is everything that a run is carried out with.
type carrier struct {
	cli.Job
	ws       *session.Workspace
	files    *rundir.Files
	site     runner.Site
	limits   recipe.Limits
	common   runner.WorkerPoolOptions
	executor *runner.WorkerPool
	own      id.Agent // the run's own agent
	kept     kernel.Kept
	near     *runner.MemoryQueue
	hosts    *hosts                               // nil: all is done here
	copied   func(path string, data []byte) error // keeps a copy of a file for an heir; nil: nobody does

	records *runRecords // nil: there is no telemetry
	kernel  *kernel.Kernel
	told    []<-chan struct{} // hooks of the run's states; the orchestrator alone writes its log
}

// start starts the kernel and the workers of this process.
func (c *carrier) start(ctx context.Context, closing *closers) error {
	book := ledger.FolderAt(c.files.Dir(), ledger.FolderOptions{})
	if _, err := book.Sweep(ctx); err != nil { // what a killed process was doing is interrupted
		return err
	}
	var err error
	if c.common, err = poolOf(c.ws, c.NoCache); err != nil {
		return err
	}
	c.common.Form, c.common.External = c.Recipe.Fits, !c.Inherited || c.External // else the user has the run carried out
	c.common.Show = c.named()
	c.common.Book = func(runner.Attempt) ledger.Book { return book }
	workers := &runner.BuiltinWorkers{Site: c.site, Env: os.Getenv}
	c.common.Builtin = workers.Do
	c.executor = runner.NewWorkerPool(c.common)
	k, err := kernelFor(ctx, request{Workspace: c.ws, Kernel: session.Kernel{Warn: c.Warn}}, c.executor)
	if err != nil {
		return err
	}
	closing.add(func() error { k.Close(); return nil })
	c.kernel = k.Kernel
	if err := c.executor.Start(ctx, k.Kernel); err != nil {
		return err
	}
	closing.add(c.executor.Stop)
	return nil
}

// named returns the project and the files and folders that the user named for the run. Those of the recipe's own
// defaults are not among them: no person accepted them.
func (c *carrier) named() []string {
	out := []string{c.ws.Place.Project}
	for name, value := range c.Params {
		isDefault := func(p recipe.Parameter) bool { return p.Name == name && p.Default == value }
		if filepath.IsAbs(value) && !slices.ContainsFunc(c.Recipe.Parameters, isDefault) {
			out = append(out, value)
		}
	}
	return out
}

func (c *carrier) options(ctx context.Context) runner.Options {
	o := runner.Options{
		RunID: c.Session.RunID, Recipe: c.Recipe, Params: c.Params, Agent: string(c.own), Model: c.Model, NoCache: c.NoCache, Log: runLog(c.Session), Folder: c.folder(), Site: c.site,
		Near:  c.near,
		Gates: &runner.BuiltinGates{Env: c.common.Env, Hide: c.common.Hide, Show: c.common.Show, Limits: c.limits, Secrets: c.ws.Secrets},
		Form:  c.Recipe.Fits, Acting: sandbox.FirstActing, Ended: c.checkAgent, Watch: c.watcher(), Now: time.Now,
	}
	o.Window = windows(c.ws.Config, c.ws.Keys, modelOf(ctx, c.ws, string(c.own)))
	if c.hosts != nil {
		o.Far = c.hosts.queue
		if !c.Leave {
			o.Far = c.sharing()
		}
		o.Hosts, o.Forget, o.Lease, o.Here = c.hosts.others, c.hosts.forget, c.hosts.lease, c.hosts.own
		o.Look = switches().Pulse
	}
	return o
}

// serve does the work of queues in this process: one built-in at a time, as they share the
// run's folder, and of everything else as much as the limit allows.
func (c *carrier) serve(ctx context.Context, orchestrator runner.Orchestrator) error {
	do := func(ctx context.Context, j runner.Enqueued) error {
		return runner.ServeAttempt(ctx, j, c.near.Host(), orchestrator, c.executor, nil)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	errs := make([]error, 4)
	part := func(i int, work func() error) {
		all.Go(func() {
			if errs[i] = work(); errs[i] != nil {
				stop(errs[i])
			}
		})
	}
	part(0, func() error { return c.near.Serve(ctx, []string{runner.Local}, 1, do) })
	switch {
	case c.hosts == nil:
		part(1, func() error { return c.near.Serve(ctx, queues(c.Recipe), c.limits.Parallel, do) })
	default:
		part(1, func() error {
			return mailbox.ServeRun(ctx, c.hosts.orchestrator, c.Session.RunID, c.hosts.epoch, orchestrator)
		})
		if !c.Leave {
			part(2, func() error {
				return c.sharing().serve(ctx, queues(c.Recipe), c.limits.Parallel, orchestrator, c.executor)
			})
			// Others see who does what the run needs.
			part(3, func() error { return c.hosts.beat(ctx, queues(c.Recipe), c.limits.Parallel) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *carrier) sharing() sharing { return sharing{c.near, c.hosts.queue} }

// retire ends the run's agent, and with it everything below: the run is over, or nobody
// carries it out any more. What resumes it makes another one. Between hosts somebody else
// may have taken the run over: then its agent is theirs.
func (c *carrier) retire(ctx context.Context, failure error) error {
	if fault.Is(failure, fault.Fenced) {
		return nil // also if it is over by now: that is theirs, too
	}
	state := c.Session.CurrentState()
	if !state.Terminal() && c.hosts != nil && ctx.Err() == nil {
		return c.settle(ctx, false, failure)
	}
	ctx = context.WithoutCancel(ctx)
	err := session.EndRun(ctx, c.ws.Store, c.own, c.kept.Claim(), c.Session.RunID, state, failure)
	return errors.Join(err, c.settle(ctx, state == run.Done || state == run.Cancelled, failure))
}

// closers end what was begun, the last first.
type closers struct{ all []func() error }

func (c *closers) add(end func() error) { c.all = append(c.all, end) }

func (c *closers) close() error {
	var err error
	for i := len(c.all) - 1; i >= 0; i-- {
		err = errors.Join(err, c.all[i]())
	}
	return err
}

// queues are those that a recipe uses, but for the local one.
func queues(r *recipe.Recipe) []string {
	out := []string{runner.Work}
	for _, w := range r.Workers {
		if name := runner.QueueOf(w); w.Uses == "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// poolOf makes what workers of this host have in common.
func poolOf(ws *session.Workspace, noCache bool) (runner.WorkerPoolOptions, error) {
	hide, err := hidden(ws)
	if err != nil {
		return runner.WorkerPoolOptions{}, err
	}
	o := runner.WorkerPoolOptions{
		Store: ws.Store, Dir: os.TempDir(), Owner: ledger.SelfOwner(), Quarantine: quarantine(ws),
		Env: append(launch.EnvironmentFor(os.Environ()), programVariable()...), Hide: hide,
		Redact:  secret.Remember(ws.Secrets).All,
		BaseURL: func(ref llm.Ref) string { return baseURL(ws, ref) },
	}
	if !noCache {
		o.Cache = runner.AnswerFolder{Dir: filepath.Join(ws.Home, "cache", "llm")}
	}
	return o, nil
}

// programVariable tells commands where this program is: recipes call programs of theirs that
// are a part of it.
func programVariable() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{"RAMET=" + self}
}

// baseURL returns the base URL of a model without any secret in it.
func baseURL(ws *session.Workspace, ref llm.Ref) string {
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return ref.Vendor + ":"
	}
	access := ws.Keys.Access(v)
	base, err := access.Reach(v).URL(access.Base)
	if err != nil {
		base = access.Base // the call will say so
	}
	return withoutUser(base)
}

// folder returns the run's folder for its orchestrator.
func (c *carrier) folder() runner.Folder {
	if c.copied == nil {
		return c.files
	}
	return copying{c.files, c.copied}
}

func withoutUser(base string) string {
	scheme, rest, ok := strings.Cut(base, "://")
	if !ok {
		return base
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	path, _, _ = strings.Cut(path, "?")
	return fmt.Sprintf("%s://%s/%s", scheme, host, path)
}

// watcher returns a function that passes durable events to telemetry, to the hooks of the run's states, and to the
// caller. Hooks run beside the run, for its own agent.
func (c *carrier) watcher() func(...run.Event) {
	own, err := c.ws.Store.Agent(context.Background(), c.own)
	hooked := err == nil && c.kernel != nil // else the caller that needs the agent reports it
	return func(events ...run.Event) {
		if c.records != nil {
			c.records.tell(events)
		}
		for _, e := range events {
			if !hooked || e.Type != run.RunStateChanged {
				continue
			}
			to := run.ReadPayload[run.Step](e.Payload)
			c.told = append(c.told, c.kernel.Happened(own, hook.Occasion{Event: hook.RunState, About: string(to.New),
				Fields: map[string]any{"run_id": c.Session.RunID, "state": to.New, "old_state": to.Old, "reason": to.Reason}}))
		}
		c.Watch(events...)
	}
}

// waitForHooks lets the hooks of the last states end, before the run's agent does.
func (c *carrier) waitForHooks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hook.Patience)
	defer cancel()
	for _, told := range c.told {
		select {
		case <-told:
		case <-ctx.Done():
			return // what takes longer is not in the history
		}
	}
}

// runLog returns the log of a session as its orchestrator writes it.
func runLog(x *rundir.Session) runner.Log {
	if probed := switches().Log; probed != nil {
		return probed(x)
	}
	return x
}

// logs opens the event logs of runs, wherever they are kept.
type logs struct{}

func (logs) Open(ctx context.Context, kind rundir.Kind, dir, runID string) (run.Log, error) {
	switch {
	case kind.Remote():
		return sqllog.OpenTable(ctx, string(kind), runID)
	case kind == rundir.SQLite:
		return sqllog.OpenFile(ctx, filepath.Join(dir, "events.sqlite"))
	}
	return ndjson.Open(ctx, filepath.Join(dir, "events.ndjson"))
}

// Remove takes a log out of a server.
func (logs) Remove(ctx context.Context, kind rundir.Kind, runID string) error {
	return sqllog.RemoveTable(ctx, string(kind), runID)
}

func (logs) OpenWriter(ctx context.Context, kind rundir.Kind, dir, runID string) (run.Writer, string, error) {
	switch {
	case kind.Remote():
		w, err := sqllog.OpenTableWriter(ctx, string(kind), runID)
		if err != nil {
			return nil, "", err
		}
		return w, "", nil
	case kind == rundir.SQLite:
		w, err := sqllog.OpenFileWriter(ctx, filepath.Join(dir, "events.sqlite"))
		if err != nil {
			return nil, "", err
		}
		return w, "", nil
	}
	w, err := ndjson.OpenWriter(ctx, filepath.Join(dir, "events.ndjson"))
	if err != nil {
		return nil, "", err
	}
	repair, did := w.Repaired()
	if !did {
		return w, "", nil
	}
	return w, repair.String(), nil
}
