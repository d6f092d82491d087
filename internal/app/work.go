package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/run/sqllog"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/runner/riverqueue"
	"ramet/internal/store/database"
)

// work does items of runs that others carry out, until ctx ends.
func work(ctx context.Context, ws *session.Workspace, r cli.Host) (err error) {
	ctx = history.Unattended(ctx) // what a run does its orchestrator does
	closing := &closers{}
	defer func() { err = errors.Join(err, closing.close()) }()
	options, err := poolOf(ws, false)
	if err != nil {
		return err
	}
	options.Book = func(runner.Attempt) ledger.Book { return ws.Book }
	if options.External = r.External; r.External {
		for _, name := range r.Queues {
			r.Queues = append(r.Queues, runner.ExternalQueue(name))
		}
	}
	executor := runner.NewWorkerPool(options)
	k, err := kernelFor(ctx, request{Workspace: ws, Kernel: session.Kernel{Warn: r.Note}}, executor)
	if err != nil {
		return err
	}
	closing.add(func() error { k.Close(); return nil })
	if err := executor.Start(ctx, k.Kernel); err != nil {
		return err
	}
	closing.add(executor.Stop)
	if r.Orchestrate != nil {
		leave, err := startTakeover(ctx, r.Orchestrate, r)
		if err != nil {
			return err
		}
		closing.add(func() error { leave(); return nil })
	}
	h, err := openHosts(ctx, ws.Place.DB, r.Name, closing)
	if err != nil {
		return err
	}
	r.Note("worker " + r.Name + " waits for items of " + strings.Join(r.Queues, ", "))
	alive, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	beating := make(chan error, 1)
	go func() {
		err := h.beat(alive, r.Queues, r.Parallel)
		if err != nil {
			leave(err) // nobody would know that it is alive
		}
		beating <- err
	}()
	var limiter runner.RunLimiter
	err = h.queue.Serve(alive, r.Queues, r.Parallel, func(ctx context.Context, j runner.Enqueued) error {
		r.Note("begins " + j.ID)
		err := limiter.Serve(ctx, j, h.queue.Host(), h.orchestrator, executor)
		if err != nil {
			r.Note("gives back " + j.ID + ": " + err.Error())
			return err
		}
		r.Note("ends " + j.ID)
		return nil
	})
	leave(nil)
	return errors.Join(err, <-beating)
}

// external reports whether a host is alive that does what acts outside of runs.
func external(ctx context.Context, db string) (found bool, err error) {
	orchestrator, err := mailbox.Open(ctx, db)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, orchestrator.Close()) }()
	lease := cmp.Or(switches().Lease, kernel.LeaseTTL)
	listed, err := orchestrator.Hosts(ctx)
	for _, o := range listed {
		found = found || !o.Gone(lease) && slices.ContainsFunc(o.Queues, runner.IsExternalQueue)
	}
	return found, err
}

// hosts is a database that several hosts take work from.
type hosts struct {
	queue        *riverqueue.Queue
	orchestrator *mailbox.Client
	lease        time.Duration
	epoch        int64    // how new we are as an orchestrator
	own          []string // names of this process
}

func openHosts(ctx context.Context, url, name string, closing *closers) (*hosts, error) {
	h := &hosts{lease: switches().Lease}
	if h.lease == 0 {
		h.lease = kernel.LeaseTTL
	}
	var err error
	if h.orchestrator, err = mailbox.Open(ctx, url); err != nil {
		return nil, err
	}
	closing.add(h.orchestrator.Close)
	// A name of its own for every process: one that was killed and started again under the
	// same name has lost what it was doing.
	if h.queue, err = riverqueue.Open(ctx, url, name+"#"+uuid.NewString()[:8]); err != nil {
		return nil, err
	}
	closing.add(h.queue.Close)
	h.own = []string{h.queue.Host()}
	return h, nil
}

// share lets other hosts do items of the run.
func (c *carrier) share(ctx context.Context, closing *closers) error {
	name, err := os.Hostname()
	if err != nil {
		name = "host"
	}
	if c.hosts, err = openHosts(ctx, c.ws.Place.DB, name+"-"+c.Session.RunID, closing); err != nil {
		return err
	}
	c.hosts.epoch = c.Session.Count() // the log has one writer at a time, and each writes
	c.hosts.own = append(c.hosts.own, c.near.Host())
	return nil
}

// others tells which hosts are alive; this process is.
func (h *hosts) others(ctx context.Context) (map[string]bool, error) {
	listed, err := h.orchestrator.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, o := range listed {
		out[o.Name] = !o.Gone(h.lease)
	}
	for _, name := range h.own {
		out[name] = true
	}
	return out, nil
}

func (h *hosts) forget(ctx context.Context, name string) error {
	return h.orchestrator.Forget(ctx, name, h.lease)
}

// beat shows others that this process is alive, until ctx ends.
func (h *hosts) beat(ctx context.Context, queues []string, parallel int) error {
	return h.orchestrator.Beat(ctx, mailbox.Host{Name: h.queue.Host(), Queues: queues, Parallel: parallel, Version: version}, cmp.Or(3*switches().Pulse, h.lease))
}

func (h *hosts) clear(ctx context.Context, runID string) error {
	return errors.Join(h.orchestrator.Clear(ctx, runID), h.queue.Clear(ctx, runID))
}

// sharing is the queue of a run whose items this process does as well as other hosts: each waits
// here and there, and the process that claims it first does it. So this process takes nothing of the
// database's queue, in which there are items of other runs: it could not do those, since it
// knows no orchestrator but its own.
type sharing struct {
	here  *runner.MemoryQueue
	there runner.Queue
}

var _ runner.Queue = sharing{}

func (s sharing) Enqueue(ctx context.Context, attempts ...runner.Enqueued) error {
	if err := s.there.Enqueue(ctx, attempts...); err != nil {
		return err
	}
	return s.here.Enqueue(ctx, attempts...)
}

func (s sharing) Cancel(ctx context.Context, id string) error {
	return errors.Join(s.here.Cancel(ctx, id), s.there.Cancel(ctx, id))
}

// Takeover takes items of another host; what waits here waits.
func (s sharing) Takeover(ctx context.Context, host string) ([]string, error) {
	return s.there.Takeover(ctx, host)
}

// serve does items of the run here, until ctx ends.
func (s sharing) serve(ctx context.Context, queues []string, parallel int, o runner.Orchestrator, e runner.Executor) error {
	return s.here.Serve(ctx, queues, parallel, func(its context.Context, j runner.Enqueued) error {
		// One that was not claimed is another host's: to take it off the common list would end its work, and if the word
		// of that is lost, no host does it again while that host lives.
		claimed := false
		err := runner.ServeAttempt(its, j, s.here.Host(), o, e, func(runner.Attempt) { claimed = true })
		if claimed && ctx.Err() == nil {
			s.there.Cancel(ctx, j.ID) // a host that takes it all the same is refused
		}
		return err
	})
}

// takeover takes up runs of a database whose orchestrators are gone.
type takeover struct {
	*session.Session
	cli.Host
	store   *rundir.Store
	db      string
	mailbox *mailbox.Client
	release func(ctx context.Context, runID string) // lets another host take a run up
	all     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	taken map[string]bool
}

// startTakeover begins to take up runs, until ctx ends or leave is called, which waits for the end.
func startTakeover(ctx context.Context, s *session.Session, o cli.Host) (leave func(), err error) {
	place, err := s.Place()
	if err != nil {
		return nil, err
	}
	store, err := s.Runs("")
	if err != nil {
		return nil, err
	}
	client, err := mailbox.Open(ctx, place.DB)
	if err != nil {
		return nil, err
	}
	h := &takeover{Session: s, Host: o, store: store, db: place.DB, mailbox: client, release: client.Release, taken: map[string]bool{}}
	ctx, stop := context.WithCancel(ctx)
	h.all.Go(func() { h.look(ctx) })
	return func() { stop(); h.all.Wait(); client.Close() }, nil
}

// look finds runs and begins with each.
func (h *takeover) look(ctx context.Context) {
	lease := cmp.Or(switches().Lease, kernel.LeaseTTL)
	tick := time.NewTicker(cmp.Or(switches().Pulse, lease/5))
	defer tick.Stop()
	for {
		orphans, _ := h.mailbox.OrphanedRuns(ctx, lease) // what cannot be asked now is asked again
		for _, runID := range orphans {
			if h.mark(runID, true) {
				h.all.Go(func() { h.take(ctx, runID, lease) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// mark records whether a run was taken up, and reports whether that is new: a run is not taken up again if that cannot
// be done here.
func (h *takeover) mark(runID string, taken bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.taken[runID]
	h.taken[runID] = taken
	return was != taken
}

// take carries a run out if no other process does.
func (h *takeover) take(ctx context.Context, runID string, lease time.Duration) {
	text, ok, err := h.mailbox.ClaimHandover(ctx, runID, lease)
	if err == nil && !ok {
		h.mark(runID, false)
		return
	}
	var left handover
	if err == nil {
		if err = json.Unmarshal(text, &left); err != nil {
			err = fault.New(fault.StorageCorrupt, "what was left to the heir of run %s cannot be read: %w", runID, err)
		}
	}
	if err == nil {
		h.Note("takes up run " + runID)
		err = h.carry(ctx, runID, left)
	}
	if err == nil {
		h.Note("run " + runID + " is DONE, in " + h.store.Dir(runID))
	} else {
		h.Note("leaves run " + runID + ": " + err.Error())
	}
	if err == nil || fault.Is(err, fault.StorageUnreachable) || fault.Is(err, fault.Locked) || fault.Is(err, fault.Fenced) {
		h.mark(runID, false)
	}
}

// carry makes the run's folder here and resumes it.
func (h *takeover) carry(ctx context.Context, runID string, left handover) (err error) {
	begun := false
	defer func() {
		if err != nil && !begun {
			h.release(ctx, runID) // another host may know better
		}
	}()
	r, params, err := h.read(runID, left)
	if err != nil {
		return err
	}
	if err := h.MakeRuns(""); err != nil {
		return err
	}
	received := rundir.Handover{Kind: rundir.Kind(h.db), Config: []byte(left.Config), Agent: left.Agent}
	if err := h.store.Receive(ctx, runID, received); err != nil {
		return err
	}
	if _, err := fetchFiles(ctx, h.mailbox, h.store, runID); err != nil {
		return err
	}
	if err := sqllog.EvictWriter(ctx, h.db, runID); err != nil {
		return err
	}
	x, err := h.store.TakeOver(ctx, runID, received.Kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if x.CurrentState().Terminal() {
		begun = true
		return h.mailbox.ClearButFiles(ctx, runID) // its files stay for the host that began it
	}
	plan, err := run.PlanResume(x.Now(), h.store.Disk(runID), run.Wishes{})
	if err != nil {
		return err
	}
	own := h.Anew()
	ws, err := own.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	begun = true
	return carry(ctx, ws, cli.Job{Store: h.store, Session: x, Recipe: r, Params: params, Model: left.Model, Plan: plan, NoCache: left.NoCache,
		Leave: left.Leave, Inherited: true, External: h.External, Watch: func(...run.Event) {}, Warn: h.Note})
}

// read reads what was left, and refuses what may not be done here.
func (h *takeover) read(runID string, left handover) (*recipe.Recipe, map[string]string, error) {
	config, err := rundir.ParseConfig([]byte(left.Config))
	if err != nil {
		return nil, nil, err
	}
	r, err := cli.ReadStartedRecipe(runID, config)
	if err != nil {
		return nil, nil, err
	}
	if !h.External && slices.ContainsFunc(r.Workers, func(w recipe.Worker) bool { return w.External }) {
		return nil, nil, fault.New(fault.Denied, "it acts outside of runs").WithHint("start the worker with --external, too")
	}
	r.Limits = left.Limits
	params, err := r.Bind(config.Set)
	return r, params, err
}

// fetchFromHost brings the files that another host made for a run. home: the run is DONE, and nothing else is left to
// do.
func fetchFromHost(ctx context.Context, db string, store *rundir.Store, x *rundir.Session) (home bool, err error) {
	client, err := mailbox.Open(ctx, db)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	n, err := fetchFiles(ctx, client, store, x.RunID)
	if err != nil || n == 0 || x.CurrentState() != run.Done {
		return false, err
	}
	return true, errors.Join(x.Settle(), client.Clear(ctx, x.RunID))
}

// fetchFiles copies the files of a run that its folder lacks, and returns how many.
func fetchFiles(ctx context.Context, client *mailbox.Client, store *rundir.Store, runID string) (n int, err error) {
	files, err := store.OpenFiles(runID)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return client.Files(ctx, runID, files.Hash, func(path string, data []byte) error {
		staged, err := files.Stage(path, data)
		if err != nil {
			return err
		}
		return staged.Commit()
	})
}

// handover is the record that an orchestrator keeps for a host that takes its run over, in addition to the log and the files.
type handover struct {
	Config  string        `json:"config"` // of the run, the file's text
	Agent   string        `json:"agent"`
	Model   string        `json:"model,omitempty"`
	Limits  recipe.Limits `json:"limits"`
	NoCache bool          `json:"no_cache,omitempty"`
	Leave   bool          `json:"leave,omitempty"`
}

// bequeath leaves the run to the host that takes it up, if its log is where the others look.
func (c *carrier) bequeath(ctx context.Context) error {
	if c.hosts == nil || !database.SameSchema(string(c.Session.Kind), c.ws.Place.DB) {
		return nil
	}
	config, err := c.files.Read("run_config.yaml")
	if err != nil {
		return err
	}
	text, err := json.Marshal(handover{Config: string(config), Agent: string(c.own), Model: c.Model, Limits: c.Recipe.Limits, NoCache: c.NoCache, Leave: c.Leave})
	if err != nil {
		return err
	}
	c.copied = func(path string, data []byte) error {
		return c.hosts.orchestrator.PutFile(ctx, c.Session.RunID, path, data)
	}
	if err := c.copyOld(ctx); err != nil {
		return err
	}
	return c.hosts.orchestrator.PutHandover(ctx, c.Session.RunID, text)
}

// copyOld keeps copies of the files that the run was given before it had an orchestrator, as a
// fork has them from the run that it continues.
func (c *carrier) copyOld(ctx context.Context) error {
	copied, err := c.hosts.orchestrator.Copied(ctx, c.Session.RunID)
	if err != nil {
		return err
	}
	for path, sum := range rundir.VouchedFiles(c.Session.Now()) {
		if have, ok := c.files.Hash(path); !ok || have != sum || copied[path] == sum {
			continue
		}
		data, err := c.files.Read(path)
		if err != nil {
			return err
		}
		if err := c.copied(path, data); err != nil {
			return err
		}
	}
	return nil
}

// copying is a run's folder whose files are copied before they have their names.
type copying struct {
	runner.Folder
	put func(path string, data []byte) error
}

func (f copying) Stage(path string, data []byte) (run.Staged, error) {
	staged, err := f.Folder.Stage(path, data)
	if err != nil {
		return nil, err
	}
	if err := f.put(path, data); err != nil {
		staged.Discard()
		return nil, err
	}
	return staged, nil
}

// settle records in the database whether the run is over or can be resumed when this process ends.
func (c *carrier) settle(ctx context.Context, over bool, failure error) error {
	switch {
	case c.hosts == nil:
		return nil
	case over && c.Inherited:
		return errors.Join(c.hosts.orchestrator.ClearButFiles(ctx, c.Session.RunID), c.hosts.queue.Clear(ctx, c.Session.RunID))
	case over:
		return c.hosts.clear(ctx, c.Session.RunID)
	case fault.Is(failure, fault.StorageUnreachable), c.Inherited && fault.Is(failure, fault.Interrupted):
		c.hosts.orchestrator.Release(ctx, c.Session.RunID) // another host may reach it
	}
	return nil
}
