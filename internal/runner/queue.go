package runner

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Queue hands out attempts by their ids. It is derived from the log and may be lost at
// any time; the orchestrator enqueues again what the log says is waiting. An attempt may
// be handed out more than once: its host asks the orchestrator, which reports whether
// it is still to be done.
type Queue interface {
	// Enqueue lets attempts wait. One that waits already, or that a host is doing, stays as it
	// is; one that ended, was cancelled or was given back waits again.
	Enqueue(ctx context.Context, attempts ...Enqueued) error
	// Cancel takes an attempt out, or ends its context. An unknown id
	// changes nothing.
	Cancel(ctx context.Context, id string) error
	// Takeover lets the attempts of a dead host wait again, but for cancelled ones, and
	// gives the ids of those that wait.
	Takeover(ctx context.Context, host string) ([]string, error)
}

// Host takes attempts out of queues.
type Host interface {
	// Serve does attempts until ctx ends, the oldest first, never more than parallel at once
	// over all queues. It returns when nothing is being done any more. What do left undone
	// at the end waits again; what it gave back with an error at other times waits for
	// another Enqueue.
	Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j Enqueued) error) error
}

// Enqueued is an attempt in a queue.
type Enqueued struct {
	ID    string // of the attempt
	RunID string
	Queue string // name of the queue
}

// CheckEnqueued returns an error if attempts cannot be enqueued.
func CheckEnqueued(attempts []Enqueued) error {
	for _, j := range attempts {
		if j.ID == "" || j.Queue == "" || len(j.Queue) > 100 {
			return fault.New(fault.Usage, "an attempt needs an id and the name of a queue, at most 100 bytes: %.100q in %.100q", j.ID, j.Queue)
		}
	}
	return nil
}

// CheckServe returns an error if a host cannot serve these queues.
func CheckServe(queues []string, parallel int) error {
	if len(queues) == 0 || parallel < 1 {
		return fault.New(fault.Usage, "a host needs the name of a queue and room for at least one attempt")
	}
	return nil
}

// Local is the queue of what must be done where the run's folder is; Work is that of
// everything else.
const (
	Local = "local"
	Work  = "work"
)

// QueueOf returns the queue of a worker that is not built in.
func QueueOf(w recipe.Worker) string {
	name := Work
	if w.Queue != "" {
		name = w.Queue
	}
	if w.External {
		name = ExternalQueue(name)
	}
	return name
}

// ExternalQueue returns the queue of the items that act outside the run, for another queue: only hosts
// whose users let them do that serve it. No recipe can give a queue such a name.
func ExternalQueue(queue string) string { return queue + externalSuffix }

// IsExternalQueue reports whether it is one of those.
func IsExternalQueue(queue string) bool { return strings.HasSuffix(queue, externalSuffix) }

const externalSuffix = "/external"

func (r *Run) queueName(e *attempt) string {
	w, _ := r.worker(e.worker)
	if w.Uses != "" {
		return Local
	}
	return QueueOf(w)
}

func (r *Run) enqueued(e *attempt) Enqueued {
	return Enqueued{ID: e.id, RunID: r.RunID, Queue: r.queueName(e)}
}

// MemoryQueue is the queue of a run that one process carries out. Nothing is stored: the log says what waits,
// and the next process enqueues it again. An attempt that is enqueued while a place is free begins at once. After
// Close nothing of it is left.
type MemoryQueue struct {
	host   string
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	serves sync.WaitGroup

	mu    sync.Mutex // guards what follows
	moved *sync.Cond
	live  map[string]*queuedAttempt // waiting or being done
	line  []*queuedAttempt          // those that wait, the oldest first
}

// queuedAttempt is one that waits or is being done.
type queuedAttempt struct {
	job       Enqueued
	cancel    context.CancelFunc // ends what does it; nil: it waits
	cancelled bool
	again     bool // it was enqueued again while it was ending after a Cancel
}

var (
	_ Queue = (*MemoryQueue)(nil)
	_ Host  = (*MemoryQueue)(nil)
)

// NewMemoryQueue makes an empty queue.
func NewMemoryQueue() *MemoryQueue {
	q := &MemoryQueue{host: "process-" + uuid.NewString(), live: map[string]*queuedAttempt{}}
	q.ctx, q.stop = context.WithCancel(context.Background())
	q.moved = sync.NewCond(&q.mu)
	return q
}

// Host returns the name under which this process does attempts.
func (q *MemoryQueue) Host() string { return q.host }

// Close ends every Serve and waits for it.
func (q *MemoryQueue) Close() error {
	q.mu.Lock()
	q.stop()
	q.mu.Unlock()
	q.serves.Wait()
	return nil
}

// Enqueue lets attempts wait.
func (q *MemoryQueue) Enqueue(_ context.Context, attempts ...Enqueued) error {
	if err := CheckEnqueued(attempts); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.open(); err != nil {
		return err
	}
	for _, j := range attempts {
		if t := q.live[j.ID]; t == nil {
			q.add(j)
		} else {
			t.again = t.cancelled
		}
	}
	return nil
}

// Cancel takes an attempt out, or ends the context of the goroutine that does it.
func (q *MemoryQueue) Cancel(_ context.Context, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.live[id]
	if t == nil {
		return nil
	}
	t.cancelled, t.again = true, false
	if t.cancel == nil {
		delete(q.live, id)
		q.line = slices.DeleteFunc(q.line, func(other *queuedAttempt) bool { return other == t })
	} else {
		t.cancel()
	}
	return nil
}

// Takeover has nothing to give back: there is no host but this process.
func (q *MemoryQueue) Takeover(context.Context, string) ([]string, error) { return nil, nil }

// open reports whether verbs make sense still. The caller holds mu.
func (q *MemoryQueue) open() error {
	if q.ctx.Err() != nil {
		return fault.New(fault.Conflict, "the queue is closed")
	}
	return nil
}

// add puts an attempt at the end of the line. The caller holds mu.
func (q *MemoryQueue) add(j Enqueued) {
	t := &queuedAttempt{job: j}
	q.live[j.ID] = t
	q.line = append(q.line, t)
	q.moved.Broadcast()
}

// Serve does jobs until ctx ends or the queue is closed.
func (q *MemoryQueue) Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j Enqueued) error) error {
	if err := CheckServe(queues, parallel); err != nil {
		return err
	}
	q.mu.Lock()
	err := q.open()
	if err == nil {
		q.serves.Add(1)
	}
	q.mu.Unlock()
	if err != nil {
		return err
	}
	defer q.serves.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { // those that wait for a job look, and return
		q.mu.Lock()
		defer q.mu.Unlock()
		q.moved.Broadcast()
	})()
	var places sync.WaitGroup
	for range parallel {
		places.Go(func() {
			for {
				t, its := q.next(ctx, queues)
				if t == nil {
					return
				}
				q.over(ctx, t, do(its, t.job))
			}
		})
	}
	places.Wait()
	return nil
}

// next waits for the job that has waited longest in some queues, and takes it with a
// context of its own. Nothing: ctx ended.
func (q *MemoryQueue) next(ctx context.Context, queues []string) (*queuedAttempt, context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil {
		if i := slices.IndexFunc(q.line, func(t *queuedAttempt) bool { return slices.Contains(queues, t.job.Queue) }); i >= 0 {
			t := q.line[i]
			q.line = slices.Delete(q.line, i, i+1)
			its, cancel := context.WithCancel(ctx)
			t.cancel = cancel
			return t, its
		}
		q.moved.Wait()
	}
	return nil, nil
}

// over forgets a task that was done, or lets it wait again: Serve ended before it did.
func (q *MemoryQueue) over(ctx context.Context, t *queuedAttempt, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.cancel()
	delete(q.live, t.job.ID)
	if t.again || err != nil && ctx.Err() != nil && !t.cancelled {
		q.add(t.job)
	}
}

// RunLimiter limits the items of each run that a host does at once to what the run's recipe allows. The limit comes
// with the first item; until then it is one. The zero RunLimiter is ready.
type RunLimiter struct {
	mu   sync.Mutex
	runs map[string]*runSlots // by id; unused ones are removed
}

type runSlots struct {
	limit   int // 0: not known yet
	users   int // items that are done or wait
	doing   int
	changed *sync.Cond // of mu
}

// acquire waits until another item of a run may be done.
func (p *RunLimiter) acquire(ctx context.Context, runID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]*runSlots{}
	}
	l := p.runs[runID]
	if l == nil {
		l = &runSlots{changed: sync.NewCond(&p.mu)}
		p.runs[runID] = l
	}
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		l.changed.Broadcast()
	})()
	l.users++
	for l.doing >= max(1, l.limit) && ctx.Err() == nil {
		l.changed.Wait()
	}
	if ctx.Err() != nil {
		p.leave(runID, l)
		return context.Cause(ctx)
	}
	l.doing++
	return nil
}

// setLimit sets how many items a run allows; 0: any number.
func (p *RunLimiter) setLimit(runID string, limit int) {
	if limit == 0 {
		limit = math.MaxInt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runs[runID]
	l.limit = limit
	l.changed.Broadcast()
}

// leave ends the use of a run's slots. The caller holds mu.
func (p *RunLimiter) leave(runID string, l *runSlots) {
	if l.users--; l.users == 0 {
		delete(p.runs, runID)
	}
	l.changed.Broadcast()
}

// Serve calls ServeAttempt within the limit of the run.
func (p *RunLimiter) Serve(ctx context.Context, j Enqueued, host string, d Orchestrator, s Executor) error {
	if err := p.acquire(ctx, j.RunID); err != nil {
		return err
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		l := p.runs[j.RunID]
		l.doing--
		p.leave(j.RunID, l)
	}()
	return ServeAttempt(ctx, j, host, d, s, func(it Attempt) { p.setLimit(j.RunID, it.Parallel) })
}

// deliverTime limits how long a worker that was stopped may take to report that.
const deliverTime = 5 * time.Second

// ServeAttempt does one attempt: it claims it, has it done, and delivers. One that is not current
// any more is no error: nothing is left to do. claimed, unless it is nil, is called when the attempt was claimed.
func ServeAttempt(ctx context.Context, j Enqueued, host string, d Orchestrator, s Executor, claimed func(Attempt)) error {
	it, err := d.Claim(ctx, j.ID, host)
	if fault.Is(err, fault.Fenced) {
		return nil
	}
	if err != nil {
		return err
	}
	if claimed != nil {
		claimed(it)
	}
	// It may be the lease of its agent that was lost, on a machine that had no time: the orchestrator waits for
	// this attempt then, and is told. Where it does not, it refuses.
	result, err := s.Do(ctx, it, d)
	say, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliverTime)
	if ctx.Err() == nil {
		cancel()
		say, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	err = d.Deliver(say, it.ID, result, describeFailure(ctx, it, err))
	if fault.Is(err, fault.Fenced) {
		return nil
	}
	return err
}

// describeFailure returns an error as the orchestrator receives it.
func describeFailure(ctx context.Context, it Attempt, err error) *Failure {
	if err == nil {
		return nil
	}
	lost := ctx.Err() != nil || fault.Is(err, fault.Fenced)
	f := &Failure{Code: string(fault.CodeOf(err)), Message: errorMessage(err), Retryable: Retryable(err), Answer: RefusedAnswer(err)}
	switch {
	case fault.Is(err, fault.UnknownOutcome):
		f.Unknown, f.Retryable = true, false
	case lost && it.Task.External && it.Task.Uses != "":
		// A built-in looks first; commands report an unknown outcome themselves.
		f.Code, f.Unknown, f.Retryable = string(fault.UnknownOutcome), true, false
	case lost:
		f.Code, f.Retryable = string(fault.Interrupted), true
	}
	return f
}

// reap takes the items of dead hosts back, until ctx ends.
func (r *Run) reap(ctx context.Context) {
	if r.Hosts == nil {
		return
	}
	// A host shows itself three times a lease, and is looked for twice as often: when it dies,
	// its items wait for a lease and a sixth at most.
	tick := time.NewTicker(max(cmp.Or(r.Look, r.Lease/6), 10*time.Millisecond))
	defer tick.Stop()
	missed := map[string]time.Time{} // since when hosts that have items are on no list
	remind := time.Now()
	for last := wallTime(); ; last = wallTime() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if wallTime().Sub(last) > asleep {
			if err := r.wakeUp(ctx); err != nil {
				r.Stop(err)
				return
			}
		}
		if time.Since(remind) > r.Lease {
			remind = time.Now()
			r.remind(ctx) // what fails is told again after another lease
		}
		hosts, err := r.Hosts(ctx)
		if err != nil {
			continue // the database is asked again; what is written meanwhile fails by itself
		}
		for _, h := range r.gone(hosts, missed) {
			if err := r.Lose(ctx, h); err != nil {
				r.Stop(err)
				return
			}
			r.Forget(ctx, h) // if it fails, it is lost once more
		}
	}
}

// asleep is the suspension of this process after which others may have given it up; see post.
const asleep = 10 * time.Second

// wallTime returns the time without the monotonic part, which stops while a machine sleeps.
func wallTime() time.Time { return time.Now().Round(0) }

// wakeUp comes back after the process or its machine was stopped: workers have given up what
// they were doing, as no answer came.
func (r *Run) wakeUp(ctx context.Context) error {
	for _, h := range r.holders() {
		if !slices.Contains(r.Here, h) {
			if err := r.Lose(ctx, h); err != nil {
				return err
			}
		}
	}
	return r.remind(ctx)
}

// remind enqueues again what waits for other hosts: the queue may have lost it, or a host
// gave it back.
func (r *Run) remind(ctx context.Context) error {
	r.mu.Lock()
	var waiting []Enqueued
	for _, e := range r.byID {
		if e.status == run.Pending && e.sent && r.stopped == nil && r.queueName(e) != Local {
			waiting = append(waiting, r.enqueued(e))
		}
	}
	r.mu.Unlock()
	if len(waiting) == 0 {
		return nil
	}
	slices.SortFunc(waiting, func(a, b Enqueued) int { return cmp.Compare(a.ID, b.ID) })
	return r.Far.Enqueue(ctx, waiting...)
}

// gone returns the hosts that are dead, and those that have items and have been on no list for
// a lease: they left unnoticed, or another run has removed them.
func (r *Run) gone(hosts map[string]bool, missed map[string]time.Time) []string {
	var out []string
	for h, alive := range hosts {
		delete(missed, h)
		if !alive {
			out = append(out, h)
		}
	}
	for _, h := range r.holders() {
		since, late := missed[h]
		switch _, listed := hosts[h]; {
		case listed:
		case !late:
			missed[h] = time.Now()
		case time.Since(since) > r.Lease:
			delete(missed, h)
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// holders returns the hosts that are doing items.
func (r *Run) holders() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.byID {
		if e.status == run.InProgress && !slices.Contains(out, e.host) {
			out = append(out, e.host)
		}
	}
	return out
}

// Lose takes back what a host was doing: it is dead, or was cut off for too long.
func (r *Run) Lose(ctx context.Context, host string) error {
	r.mu.Lock()
	var lost []*attempt
	for _, e := range r.byID {
		if e.status == run.InProgress && e.host == host {
			lost = append(lost, e)
		}
	}
	slices.SortFunc(lost, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	var old []string
	for _, e := range lost {
		old = append(old, e.id)
		f := Failure{Code: string(fault.Interrupted), Message: "host " + host + " is gone", Retryable: true}
		if w, _ := r.worker(e.worker); w.External {
			f.Message += "; whether it acted is not known"
			if !w.LooksUp() { // else the next attempt finds out
				f.Code, f.Retryable, f.Unknown = string(fault.UnknownOutcome), false, true
			}
		}
		if err := r.settle(ctx, e, nil, &f); err != nil {
			r.mu.Unlock()
			return err
		}
	}
	r.mu.Unlock()
	for _, id := range old {
		r.Far.Cancel(ctx, id) // its host does not hear it; the orchestrator refuses it anyway
	}
	// What it had taken and not begun is handed out again.
	_, err := r.Far.Takeover(ctx, host)
	return err
}
