package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/runner/riverqueue"
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
