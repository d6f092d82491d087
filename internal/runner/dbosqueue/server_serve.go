package dbosqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

// How often a host looks into its own queue, and at everything in case it missed a word.
const (
	ownPoll = 50 * time.Millisecond
	netPoll = time.Second
	// strayTime is how long a job may be ours for the server before it begins here.
	strayTime = 3 * time.Second
)

// service is one Serve.
type service struct {
	*Server
	ctx    context.Context
	stop   context.CancelFunc
	queues []string
	most   int
	do     func(context.Context, runner.Job) error
	engine dbos.Context
	look   chan struct{} // something may wait, or a place is free
	check  chan struct{} // something of ours may be cancelled

	strays map[string]time.Time // of claim alone: since when jobs are ours for the server only

	// claims is held while jobs are put aside, so that none begins before it has a place.
	claims sync.RWMutex

	mu     sync.Mutex
	out    map[string]*place // put aside for us or being done
	atWork int               // handlers
	undone int               // jobs whose handlers were interrupted by the end
	idle   *sync.Cond
}

// place is one of the jobs that a host may do at once.
type place struct {
	cancel context.CancelFunc // nil: not begun
	ended  bool               // by Cancel, or because somebody else has it
}

// Serve does jobs until ctx ends.
func (s *Server) Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j runner.Job) error) error {
	if err := checkServe(queues, parallel); err != nil {
		return err
	}
	v := &service{Server: s, most: parallel, do: do, out: map[string]*place{}, look: make(chan struct{}, 1), check: make(chan struct{}, 1)}
	for _, name := range queues {
		v.queues = append(v.queues, linePrefix+name)
	}
	v.idle = sync.NewCond(&v.mu)
	v.ctx, v.stop = context.WithCancel(ctx)
	defer v.stop()
	s.mu.Lock()
	if s.stopped || s.serving != nil {
		s.mu.Unlock()
		return fault.New(fault.Conflict, "%s: host %s is closed or does jobs already", s.pg.Place, s.host)
	}
	s.serving = v
	s.serves.Add(1)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.serving = nil
		s.mu.Unlock()
		s.serves.Done()
	}()
	// What an earlier process of this name left waits again, for anybody.
	if _, err := s.Takeover(v.ctx, s.host); err != nil {
		return ended(v.ctx, err)
	}
	if err := v.begin(); err != nil {
		return ended(v.ctx, s.fail("serve", err))
	}
	var bell sync.WaitGroup
	bell.Go(func() { s.listen(v.ctx, func() { nudge(v.look) }, func() { nudge(v.check) }) })
	v.claim()
	bell.Wait()
	return v.end()
}

// ended is the error of a Serve that did not begin; the end of ctx is none.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// begin starts the engine. What fails is tried again a few times, whatever it is: DBOS
// does not tell a lost connection from anything else while it starts.
func (v *service) begin() error {
	pause := firstPause
	for n := 1; ; n++ {
		err := v.start()
		if err == nil || n == tries {
			return err
		}
		select {
		case <-v.ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (v *service) start() error {
	pool, err := v.connect(v.ctx, int32(v.most+4))
	if err != nil {
		return err
	}
	v.engine, err = start(v.ctx, dbos.Config{SystemDBPool: pool, DatabaseSchema: v.schema, ExecutorID: v.host})
	if err != nil {
		pool.Close()
		return err
	}
	dbos.RegisterWorkflow(v.engine, v.work, dbos.WithWorkflowName(workflow), dbos.WithMaxRecoveryAttempts(0))
	if err = v.register(); err == nil {
		dbos.ListenQueues(v.engine, hostPrefix+v.host)
		err = v.launch()
	}
	if err != nil {
		return errors.Join(err, dbos.Shutdown(v.engine, patience))
	}
	return nil
}

// register makes the queue of this host.
func (v *service) register() error {
	_, err := dbos.RegisterQueue(as(v.engine, v.ctx), hostPrefix+v.host, dbos.WithWorkerConcurrency(v.most), dbos.WithQueueBasePollingInterval(ownPoll),
		dbos.WithQueueOnConflict(dbos.QueueConflictAlwaysUpdate))
	return err
}

// launch starts the engine, which tries for ever where the server is gone.
func (v *service) launch() error {
	given := make(chan struct{})
	stop := context.AfterFunc(v.ctx, func() {
		dbos.Shutdown(v.engine, patience)
		close(given)
	})
	err := dbos.Launch(v.engine)
	if !stop() {
		<-given
	}
	return err
}

// claim puts jobs aside for this host while it has places, until ctx ends.
func (v *service) claim() {
	tick := time.NewTicker(netPoll)
	defer tick.Stop()
	for v.ctx.Err() == nil {
		v.putAside() // what fails is tried again at the next tick
		select {
		case <-v.ctx.Done():
		case <-v.look:
		case <-v.check:
			v.review()
		case <-tick.C:
			v.review()
			v.comeBack()
			v.giveUp()
		}
	}
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enter takes the place that a job was given, or a new one.
func (v *service) enter(id string, cancel context.CancelFunc) *place {
	v.claims.RLock()
	defer v.claims.RUnlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.out[id]
	if p == nil {
		p = &place{}
		v.out[id] = p
	}
	p.cancel = cancel
	if p.ended {
		cancel()
	}
	v.atWork++
	return p
}

// work is the workflow: it hands a job to whoever serves.
func (v *service) work(dc dbos.Context, j stored) (struct{}, error) {
	id, err := dbos.GetWorkflowID(dc)
	if err != nil {
		return struct{}{}, outcome(err)
	}
	job := runner.Job{ID: id, RunID: j.RunID, Queue: j.Queue}
	// The caller's context, not DBOS's, so that what he calls is no part of the workflow.
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	p := v.enter(id, cancel)
	if err = ctx.Err(); err == nil {
		err = v.do(ctx, job)
	}
	v.mu.Lock()
	interrupted := err != nil && v.ctx.Err() != nil && !p.ended
	delete(v.out, id)
	v.atWork--
	if interrupted {
		v.undone++
	}
	v.idle.Broadcast()
	v.mu.Unlock()
	nudge(v.look)
	if interrupted {
		// A workflow that ends because its engine did, and says so, is not noted as
		// ended: it is left to Takeover.
		<-dc.Done()
		return struct{}{}, dc.Err()
	}
	return struct{}{}, outcome(err)
}

// end waits for handlers, lets what they did be noted, and gives back the rest.
func (v *service) end() error {
	v.mu.Lock()
	for v.atWork > 0 {
		v.idle.Wait()
	}
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), patience)
	defer cancel()
	v.settle(ctx)
	if err := dbos.Shutdown(v.engine, patience); err != nil {
		return v.fail("stop serving", err)
	}
	if _, err := v.Takeover(ctx, v.host); err != nil {
		return err
	}
	err := dbos.DeleteQueue(as(v.client, ctx), hostPrefix+v.host)
	return v.fail("stop serving", err)
}

// settle waits until DBOS has noted how our jobs ended.
func (v *service) settle(ctx context.Context) {
	for range 100 {
		rows, err := dbos.ListWorkflows(as(v.client, ctx), dbos.WithFilterExecutorIDs(v.host), dbos.WithFilterStatus(dbos.WorkflowStatusPending),
			dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
		v.mu.Lock()
		undone := v.undone
		v.mu.Unlock()
		if err != nil || len(rows) <= undone {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(ownPoll):
		}
	}
}
