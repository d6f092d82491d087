package app

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"ramet/internal/cli"
	"ramet/internal/ledger"
	"ramet/internal/proc"
	"ramet/internal/runner"
	"ramet/internal/runner/crew"
	"ramet/internal/runner/dbosqueue"
	"ramet/internal/runner/post"
)

// work does items of runs that others carry out, until ctx ends.
func work(ctx context.Context, r cli.WorkRequest) (err error) {
	closing := &closers{}
	defer func() { err = errors.Join(err, closing.close()) }()
	options, err := crewOf(r.Kernel, false)
	if err != nil {
		return err
	}
	options.Book = func(runner.Item) ledger.Book { return r.Kernel.Book }
	staff := crew.New(options)
	k, err := kernelFor(ctx, r.Kernel, staff)
	if err != nil {
		return err
	}
	closing.add(func() error { k.Close(); return nil })
	if err := staff.Start(ctx, k.Kernel); err != nil {
		return err
	}
	closing.add(staff.Stop)
	h, err := openHosts(ctx, r.Kernel.Place.DB, r.Host, closing)
	if err != nil {
		return err
	}
	alive, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	beating := make(chan error, 1)
	go func() {
		err := h.desk.Beat(alive, post.Host{Name: r.Host, Queues: r.Queues, Parallel: r.Parallel, Version: version}, h.lease)
		if err != nil {
			leave(err) // nobody would know that it is alive
		}
		beating <- err
	}()
	err = h.queue.Serve(alive, r.Queues, r.Parallel, func(ctx context.Context, j runner.Job) error {
		r.Note("begins " + j.ID)
		err := runner.Serve(ctx, j, r.Host, h.desk, staff)
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

// hosts is a database that several hosts take work from.
type hosts struct {
	queue *dbosqueue.Server
	desk  *post.Client
	lease time.Duration
	epoch int64 // how new we are as an orchestrator

	mu   sync.Mutex
	lost map[string]bool // dead hosts that were told of
}

func openHosts(ctx context.Context, url, name string, closing *closers) (*hosts, error) {
	h := &hosts{lease: shortened(shortLease), lost: map[string]bool{}}
	if h.lease == 0 {
		h.lease = proc.LeaseTTL
	}
	var err error
	if h.desk, err = post.Open(ctx, url); err != nil {
		return nil, err
	}
	closing.add(h.desk.Close)
	if h.queue, err = dbosqueue.OpenServer(ctx, url, name); err != nil {
		return nil, err
	}
	closing.add(h.queue.Close)
	return h, nil
}

// share lets other hosts do items of the run.
func (c *carrier) share(ctx context.Context, closing *closers) error {
	name, err := os.Hostname()
	if err != nil {
		name = "host"
	}
	if c.hosts, err = openHosts(ctx, c.Hosts, name+"-"+strconv.Itoa(os.Getpid())+"-"+c.Session.RunID, closing); err == nil {
		c.hosts.epoch = c.Session.Now().EventCount // the log has one writer at a time, and each writes
	}
	return err
}

// dead names the hosts that died since it was asked last.
func (h *hosts) dead(ctx context.Context) ([]string, error) {
	all, err := h.desk.Dead(ctx, h.lease)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	now := map[string]bool{}
	for _, name := range all {
		now[name] = true
		if !h.lost[name] {
			out = append(out, name)
		}
	}
	h.lost = now // one that came back can die again
	return out, nil
}

// clear removes what the database held for a run that is over, and forgets dead hosts.
func (h *hosts) clear(ctx context.Context, runID string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.Join(h.desk.Clear(ctx, runID), h.queue.Clear(ctx, runID))
	for name := range h.lost {
		err = errors.Join(err, h.desk.Forget(ctx, name, h.lease))
	}
	return err
}
