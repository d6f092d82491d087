package mailbox

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/runner"
)

// atOnce limits the requests of a run that are answered at the same time. The log writes
// those that come together with one sync.
const atOnce = 8

// server is one Serve.
type server struct {
	*Client
	runID        string
	owner        uuid.UUID
	orchestrator runner.Orchestrator
	done         chan uuid.UUID // requests that were answered
}

// ServeRun answers the requests of a run until ctx ends. epoch grows with every owner of
// the log (the number of its events when it was opened will do): a server that is older than the last is refused, and
// stops as soon as a newer one is there, with FENCED.
func ServeRun(ctx context.Context, c *Client, runID string, epoch int64, orchestrator runner.Orchestrator) error {
	if err := run.CheckRunID(runID); err != nil {
		return err
	}
	s := &server{Client: c, runID: runID, owner: uuid.New(), orchestrator: orchestrator, done: make(chan uuid.UUID)}
	called := make(chan struct{}, 1)
	c.mu.Lock()
	taken := c.serving[runID] != nil
	if !taken {
		c.serving[runID] = called
	}
	c.mu.Unlock()
	if taken {
		return fault.New(fault.Locked, "this process serves run %s already", runID)
	}
	defer func() {
		c.mu.Lock()
		delete(c.serving, runID)
		c.mu.Unlock()
	}()
	err := s.acquireLease(ctx, epoch)
	if err == nil {
		err = s.work(ctx, called)
		s.releaseLease(ctx)
	}
	if ctx.Err() != nil && !fault.Is(err, fault.Fenced) {
		return nil
	}
	return err
}

// acquireLease makes this the orchestrator of the run.
func (s *server) acquireLease(ctx context.Context, epoch int64) error {
	return s.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, waitForDisk); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO desks AS d (run_id, epoch, owner, seen_at) VALUES ($1, $2, $3, clock_timestamp())
			ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner, seen_at = excluded.seen_at WHERE d.epoch <= excluded.epoch`,
			s.runID, epoch, s.owner)
		if err == nil && tag.RowsAffected() == 0 {
			err = s.overtaken()
		}
		return err
	})
}

// releaseLease records that this orchestrator leaves, so that no worker waits for it. The epoch stays.
func (s *server) releaseLease(ctx context.Context) {
	s.once(context.WithoutCancel(ctx), `UPDATE desks SET seen_at = '-infinity' WHERE run_id = $1 AND owner = $2`, s.runID, s.owner)
}

func (s *server) overtaken() error {
	return fault.New(fault.Fenced, "run %s is carried out by a newer orchestrator, or was cleared", s.runID)
}

// work takes requests until ctx ends or the orchestrator is lost.
func (s *server) work(ctx context.Context, called <-chan struct{}) error {
	ctx, stop := context.WithCancel(ctx)
	var answers sync.WaitGroup
	inHand := map[uuid.UUID]bool{}
	defer func() {
		stop()
		go func() { answers.Wait(); close(s.done) }()
		for range s.done {
		}
	}()
	poll, beat := time.NewTicker(netPoll), time.NewTicker(leaseBeat)
	defer poll.Stop()
	defer beat.Stop()
	for more, look := false, true; ; {
		if free := atOnce - len(inHand); look {
			var taken []request
			if free > 0 {
				if err := s.persist(ctx, func(ctx context.Context) (err error) {
					taken, err = s.take(ctx, inHand, free)
					return err
				}); err != nil {
					return err
				}
			}
			more = len(taken) == free
			for _, r := range taken {
				inHand[r.id] = true
				answers.Go(func() {
					s.handle(ctx, r)
					s.done <- r.id
				})
			}
		}
		look = true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
			rows, err := s.exec(ctx, `UPDATE desks SET seen_at = clock_timestamp() WHERE run_id = $1 AND owner = $2`, s.runID, s.owner)
			if err == nil && rows == 0 {
				err = s.overtaken()
			}
			if err != nil {
				return err
			}
		case <-called:
		case <-poll.C:
		case id := <-s.done:
			delete(inHand, id)
			look = more
		}
	}
}

// request is a row that waits for its answer.
type request struct {
	id         uuid.UUID
	item, verb string
	body       []byte
}

func (s *server) take(ctx context.Context, inHand map[uuid.UUID]bool, most int) ([]request, error) {
	skip := make([]uuid.UUID, 0, len(inHand))
	for id := range inHand {
		skip = append(skip, id)
	}
	rows, err := s.pool.Query(ctx, `SELECT id, item_id, verb, body FROM requests r
		WHERE run_id = $1 AND id <> ALL($2) AND NOT EXISTS (SELECT FROM answers a WHERE a.id = r.id) ORDER BY asked_at LIMIT $3`, s.runID, skip, most)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r request, err error) {
		return r, row.Scan(&r.id, &r.item, &r.verb, &r.body)
	})
}

// handle calls the orchestrator and stores its answer.
func (s *server) handle(ctx context.Context, r request) {
	said, err := s.call(ctx, r)
	if ctx.Err() != nil && err != nil {
		return // perhaps only because we stop; the next server answers it
	}
	a := answerOf(said, err)
	// What was done is durable already: the answer may be stored a little after the end.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), attempt)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(2*time.Second, cancel) })()
	s.exec(late, `WITH desk AS (SELECT FROM desks WHERE run_id = $1 AND owner = $2 FOR SHARE), request AS (SELECT id FROM requests WHERE id = $3 FOR SHARE),
		answer AS (INSERT INTO answers (id, code, message, hint, body) SELECT request.id, $4, $5, $6, $7 FROM desk, request ON CONFLICT (id) DO NOTHING RETURNING id)
		SELECT pg_notify($8, id::text) FROM answer`, s.runID, s.owner, r.id, a.code, a.message, a.hint, a.body, s.answered())
}

// call reads a request and has the orchestrator carry it out.
func (s *server) call(ctx context.Context, r request) ([]byte, error) {
	// The id of another run would be the business of another log.
	if of, err := runOf(r.item); err != nil || of != s.runID {
		return nil, fault.New(fault.InvalidID, "%.100q is not an item of run %s", r.item, s.runID)
	}
	switch r.verb {
	case verbClaim:
		return answerRequest(r, func(in claim) (any, error) { return s.orchestrator.Claim(ctx, r.item, in.Host) })
	case verbFetch:
		return answerRequest(r, func(in fetch) (any, error) { return nil, s.fetch(ctx, r.item, in.SHA256) })
	case verbReport:
		return answerRequest(r, func(in report) (any, error) {
			if in.Evidence != nil {
				files, err := s.contents(ctx, []content{*in.Evidence})
				if err != nil {
					return nil, err
				}
				in.Report.Evidence = &files[0]
			}
			return nil, s.orchestrator.Report(ctx, r.item, in.Report)
		})
	case verbDeliver:
		return answerRequest(r, func(in delivery) (_ any, err error) {
			if in.Result.Files, err = s.contents(ctx, in.Files); err != nil {
				return nil, err
			}
			return nil, s.orchestrator.Deliver(ctx, r.item, in.Result, in.Failure)
		})
	}
	return nil, fault.New(fault.Usage, "unknown request %.40q", r.verb).WithHint("run the same version of ramet on all hosts")
}

// answerRequest reads a request, has it done, and encodes the answer; nil is an empty one.
func answerRequest[T any](r request, do func(T) (any, error)) ([]byte, error) {
	var in T
	if err := decodeMessage(r.body, &in); err != nil {
		return nil, err
	}
	out, err := do(in)
	if err != nil || out == nil {
		return []byte{}, err
	}
	return encodeMessage(out)
}

// fetch puts the content of an input where workers find it.
func (s *server) fetch(ctx context.Context, item, sum string) error {
	data, err := s.orchestrator.Fetch(ctx, item, sum)
	if err != nil {
		return err
	}
	b, err := newBlob(data)
	if err != nil {
		return err
	}
	if b.sha256 != sum {
		return fault.New(fault.StorageCorrupt, "the input %s of %s was changed", sum, item)
	}
	return s.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if orchestrator, err := hasOrchestrator(ctx, tx, s.runID); err != nil || !orchestrator {
			return err
		}
		return putBlobs(ctx, tx, s.runID, []blob{b})
	})
}

// contents reads what came with a request.
func (s *server) contents(ctx context.Context, wanted []content) ([]runner.Blob, error) {
	var out []runner.Blob
	for _, w := range wanted {
		data, found, err := s.read(ctx, s.runID, w.SHA256)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fault.New(fault.NotFound, "the content of %.200q did not come with its request", w.Path)
		}
		out = append(out, runner.Blob{Path: w.Path, Data: data})
	}
	return out, nil
}
