package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
)

// Times. Variables, so that tests need not wait.
var (
	// cooldown limits how often River looks for jobs, and poll is its interval without a notification.
	cooldown = 5 * time.Millisecond
	poll     = 500 * time.Millisecond
	// settle limits the time that River's loops take to begin once it has reported its start: they
	// need no connection then.
	settle = 5 * time.Second
	// look is the interval at which a host compares River's jobs with its own.
	look = 2 * time.Second
	// stray limits the time that River may count a job as ours before or after this host works on it.
	stray = 3 * time.Second
	// hold is the time for which a job that exceeds the limit of all queues is kept,
	// and pause the time for which it is then given back.
	hold  = 100 * time.Millisecond
	pause = time.Second
	// rescue is after how long River ends rows that are cancelled and still being done.
	rescue = 10 * time.Minute
	// keep is the time for which River keeps rows of finished jobs.
	keep = time.Hour
)

// service is one Serve.
type service struct {
	*Queue
	river.WorkerDefaults[args]
	ctx    context.Context
	stop   context.CancelFunc
	do     func(context.Context, runner.Enqueued) error
	places chan struct{} // one for each job that is being done

	mu   sync.Mutex
	at   map[int64]*attempt // rows that are being done
	idle *sync.Cond         // none is

	strays map[int64]time.Time // of watch alone: since when rows are ours for River only
}

// attempt is a row that is being done.
type attempt struct {
	cancel context.CancelFunc
	ended  bool // it was cancelled, or is another host's
}

// Serve does jobs until ctx ends.
func (q *Queue) Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j runner.Enqueued) error) error {
	if err := runner.CheckServe(queues, parallel); err != nil {
		return err
	}
	s := &service{Queue: q, do: do, places: make(chan struct{}, parallel), at: map[int64]*attempt{}}
	s.idle = sync.NewCond(&s.mu)
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	if err := q.begin(s); err != nil {
		return err
	}
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.serving = nil
		q.serves.Done()
	}()
	// What an earlier process of this name left waits again, for anybody.
	if _, err := q.Takeover(s.ctx, q.host); err != nil {
		return s.unlessOver(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, s)
	config := river.Config{
		ID: clientName(q.host), Workers: workers, Queues: map[string]river.QueueConfig{},
		FetchCooldown: cooldown, JobTimeout: -1, RescueStuckJobsAfter: rescue, ReindexerIndexNames: []string{},
		CompletedJobRetentionPeriod: keep, CancelledJobRetentionPeriod: keep, DiscardedJobRetentionPeriod: keep,
	}
	for _, name := range queues {
		config.Queues[queueName(name)] = river.QueueConfig{MaxWorkers: parallel}
	}
	var client *river.Client[pgx.Tx]
	if err := q.persist(s.ctx, func(ctx context.Context) (err error) {
		client, err = q.starts(ctx, config)
		return err
	}); err != nil {
		return s.unlessOver(err)
	}
	s.watch()
	return s.end(client)
}

func (q *Queue) begin(s *service) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return q.errClosed()
	}
	if q.serving != nil {
		return fault.New(fault.Conflict, "%s: host %s does jobs already", q.place, q.host)
	}
	q.serving = s
	q.serves.Add(1)
	return nil
}

// unlessOver is the error of a Serve that did not begin; the end of its context is none.
func (s *service) unlessOver(err error) error {
	if s.ctx.Err() != nil {
		return nil
	}
	return err
}

// Timeout is none: a job takes as long as it takes. River's rescue leaves such jobs alone.
func (s *service) Timeout(*river.Job[args]) time.Duration { return -1 }

// Work is called by River for each job.
func (s *service) Work(ctx context.Context, job *river.Job[args]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if !s.enter(ctx) {
		if s.ctx.Err() != nil {
			return river.JobSnooze(0)
		}
		return river.JobSnooze(pause)
	}
	defer func() { <-s.places }()
	e := &attempt{cancel: cancel}
	s.mu.Lock()
	s.at[job.ID] = e
	s.mu.Unlock()
	err := s.do(ctx, runner.Enqueued{ID: job.Args.ID, RunID: job.Args.RunID, Queue: job.Args.Queue})
	s.mu.Lock()
	if delete(s.at, job.ID); len(s.at) == 0 {
		s.idle.Broadcast()
	}
	interrupted := err != nil && s.ctx.Err() != nil && !e.ended
	s.mu.Unlock()
	if interrupted {
		return river.JobSnooze(0)
	}
	if err != nil { // its code is stored: texts may hold contents of a repository
		return errors.New(string(fault.CodeOf(err)))
	}
	return nil
}

// enter takes a place. There may be none while River hands out of several queues: it has a
// limit for each. A job that waits too long for one goes back.
func (s *service) enter(ctx context.Context) bool {
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case s.places <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// end waits for what is being done, has it noted, and gives back what was not.
func (s *service) end(client *river.Client[pgx.Tx]) error {
	ended := make(chan error, 1)
	late, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	defer cancel()
	go func() { ended <- client.Stop(late) }()
	s.mu.Lock()
	for len(s.at) > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	defer time.AfterFunc(patience, cancel).Stop()
	if err := <-ended; err != nil {
		return s.fail(err)
	}
	_, err := s.Takeover(late, s.host)
	return err
}

// told is the shortest interval in which River notifies hosts of new jobs: of what comes sooner they hear
// nothing, and find it when they look by themselves, a long time later.
const told = river.FetchCooldownMin

// pace keeps insertions so far apart that hosts are notified of each.
type pace struct {
	sync.Mutex
	last time.Time
}

func (q *Queue) insert(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	q.pace.Lock()
	defer q.pace.Unlock()
	time.Sleep(told + told/10 - time.Since(q.pace.last))
	defer func() { q.pace.last = time.Now() }()
	return q.client.InsertManyTx(ctx, tx, params)
}

// watch compares what River takes for the jobs of this host with what is done here, until
// ctx ends: a word of River may be lost with its connection.
func (s *service) watch() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.compare() // what fails is done at the next tick
		}
	}
}

func (s *service) compare() error {
	s.mu.Lock()
	before := maps.Clone(s.at)
	s.mu.Unlock()
	ours := map[int64]bool{} // rows that are to be done here
	strays := map[int64]time.Time{}
	var lost []*rivertype.JobRow
	for row, err := range s.taken(s.ctx, clientName(s.host)) {
		if err != nil {
			return err
		}
		ours[row.ID] = true
		if _, known := before[row.ID]; known || s.begun(row.ID) {
			continue
		}
		since, known := s.strays[row.ID]
		switch {
		case !known:
			strays[row.ID] = time.Now()
		case time.Since(since) < stray:
			strays[row.ID] = since
		default:
			lost = append(lost, row)
		}
	}
	s.strays = strays
	s.mu.Lock()
	for id, e := range before {
		if !ours[id] && s.at[id] == e {
			e.ended = true
			e.cancel()
		}
	}
	s.mu.Unlock()
	return s.putAgain(s.ctx, lost, func(string) {})
}

// begun reports whether a row is being done here.
func (s *service) begun(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[id] != nil
}

// loops counts in River's log how many of a client's loops, one for each queue, have begun. Start does not report one
// that did not: River takes a connection that is lost meanwhile for a shutdown, and the host would wait for jobs for
// ever.
type loops struct{ begun chan struct{} }

// began matches that line; other parts of River have loops too. If a newer River logs something else, no host
// begins to serve and the tests fail.
const began = "producer: Run loop started"

func (l *loops) Enabled(context.Context, slog.Level) bool { return true }

func (l *loops) Handle(_ context.Context, r slog.Record) error {
	if r.Message == began {
		select {
		case l.begun <- struct{}{}:
		default:
		}
	}
	return nil
}

func (l *loops) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *loops) WithGroup(string) slog.Handler { return l }

// all waits until the loop of each queue has begun.
func (l *loops) all(ctx context.Context) error {
	late := time.NewTimer(settle)
	defer late.Stop()
	for range cap(l.begun) {
		select {
		case <-l.begun:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("a queue does not begin: %w", io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// starts makes a client whose loops all run. One that failed to start is not tried again: parts of it
// may be running.
func (q *Queue) starts(ctx context.Context, config river.Config) (client *river.Client[pgx.Tx], err error) {
	l := &loops{make(chan struct{}, len(config.Queues))}
	client, err = q.newClient(&config, l)
	if err != nil {
		return nil, err
	}
	// River's own context does not end with ours: what is done then is noted.
	own := context.WithoutCancel(ctx)
	if err := client.Start(own); err != nil {
		return nil, err
	}
	if err := l.all(ctx); err != nil {
		late, cancel := context.WithTimeout(own, settle)
		defer cancel()
		client.StopAndCancel(late) // what is left of it takes no jobs
		return nil, err
	}
	return client, nil
}
