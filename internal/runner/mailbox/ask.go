package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/runner"
)

// ask puts a request and waits for its answer.
func (c *Client) ask(ctx context.Context, itemID, verb string, message any, contents ...blob) ([]byte, error) {
	body, err := encodeMessage(message)
	if err != nil {
		return nil, err
	}
	runID, err := runOf(itemID)
	if err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	woken := make(chan struct{}, 1)
	c.mu.Lock()
	c.waiting[id] = woken
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	for {
		if err := c.put(ctx, id, runID, itemID, verb, body, contents); err != nil {
			return nil, err
		}
		// A server that crashed may have lost the last moment: it is asked again.
		if said, err := c.await(ctx, id, runID, woken); !errors.Is(err, errForgotten) {
			return said, err
		}
	}
}

var errForgotten = errors.New("the request no longer exists")

// put writes a request, with what belongs to it. Only where the run has an orchestrator: nothing
// is left for a run that was cleared.
func (c *Client) put(ctx context.Context, id uuid.UUID, runID, itemID, verb string, body []byte, contents []blob) error {
	since, pause := time.Now(), firstPause
	for {
		var orchestrator bool
		err := c.transaction(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if orchestrator, err = hasOrchestrator(ctx, tx, runID); err != nil || !orchestrator {
				return err
			}
			if err := putBlobs(ctx, tx, runID, contents); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO requests (id, run_id, item_id, verb, body) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`,
				id, runID, itemID, verb, body); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `SELECT pg_notify($1, $2)`, c.asked(), runID)
			return err
		})
		if err != nil {
			return err
		}
		if orchestrator {
			c.met(runID, true)
			return nil
		}
		if c.met(runID, false) {
			return runOver(runID) // it had one, which was cleared
		}
		if time.Since(since) > leaseTime {
			return noOrchestrator(runID)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause): // it may be about to begin
		}
		pause = min(2*pause, netPoll)
	}
}

// met reports whether this client has been at a run's orchestrator; now: it is.
func (c *Client) met(runID string, now bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now {
		c.served[runID] = true
	}
	return c.served[runID]
}

func runOver(runID string) error { return fault.New(fault.Fenced, "run %s is over", runID) }

func noOrchestrator(runID string) error {
	return fault.New(fault.NotFound, "run %s has no orchestrator", runID).WithHint("resume it: ramet run resume %s", runID)
}

// hasOrchestrator reports whether a run has an orchestrator, and keeps it from being cleared until the
// transaction ends.
func hasOrchestrator(ctx context.Context, tx pgx.Tx, runID string) (bool, error) {
	tag, err := tx.Exec(ctx, `SELECT FROM desks WHERE run_id = $1 FOR KEY SHARE`, runID)
	return tag.RowsAffected() == 1, err
}

// await looks for an answer when it is called, and now and then by itself.
func (c *Client) await(ctx context.Context, id uuid.UUID, runID string, woken <-chan struct{}) ([]byte, error) {
	since := time.Now()
	poll := time.NewTicker(netPoll)
	defer poll.Stop()
	for {
		var a answer
		var state state
		err := c.persist(ctx, func(ctx context.Context) (err error) {
			var ago *int64 // nil: the orchestrator said that it leaves
			err = c.pool.QueryRow(ctx, `SELECT r.id IS NOT NULL, a.id IS NOT NULL, d.run_id IS NOT NULL, CASE WHEN seen_at > '-infinity' THEN `+seenAgo+` END,
					coalesce(a.code, ''), coalesce(a.message, ''), coalesce(a.hint, ''), coalesce(a.body, '')
				FROM (VALUES (1)) AS one LEFT JOIN requests r ON r.id = $1 LEFT JOIN answers a ON a.id = $1 LEFT JOIN desks d ON d.run_id = $2`,
				id, runID).Scan(&state.asked, &state.answered, &state.orchestrator, &ago, &a.code, &a.message, &a.hint, &a.body)
			state.served = err == nil && ago != nil && !ownerGone(*ago, leaseTime)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case state.answered:
			// Read, so it may go. If this is lost, Clear does it.
			c.once(ctx, `DELETE FROM requests WHERE id = $1`, id)
			return a.body, a.fault()
		case !state.asked && state.orchestrator:
			return nil, errForgotten
		case !state.asked:
			return nil, runOver(runID)
		case !state.served && time.Since(since) > leaseTime:
			c.once(ctx, `DELETE FROM requests WHERE id = $1`, id)
			return nil, noOrchestrator(runID)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-woken:
		case <-poll.C:
		}
	}
}

// answer is the answer of an orchestrator.
type answer struct {
	code, message, hint string
	body                []byte
}

func (a answer) fault() error {
	if a.code == "" {
		return nil
	}
	return &fault.Error{Code: fault.Code(a.code), Message: a.message, Hint: a.hint}
}

// answerOf returns the answer that carries an error.
func answerOf(body []byte, err error) answer {
	if err == nil {
		return answer{body: body}
	}
	if f, ok := fault.Of(err); ok {
		return answer{code: string(f.Code), message: f.Message, hint: f.Hint, body: []byte{}}
	}
	return answer{code: string(fault.Failed), message: err.Error(), body: []byte{}}
}

// state is the state of a request.
type state struct {
	asked, answered bool
	orchestrator    bool // the run has an orchestrator
	served          bool // which is alive
}

// The verbs of an orchestrator, as they travel.
const (
	verbClaim   = "claim"
	verbFetch   = "fetch"
	verbReport  = "report"
	verbDeliver = "deliver"
)

// What they carry. Contents are stored apart, by their hashes.
type (
	claim   struct{ Host string }
	fetch   struct{ SHA256 string }
	content struct{ Path, SHA256 string }
	report  struct {
		Report   runner.Report
		Evidence *content `json:",omitempty"`
	}
	delivery struct {
		Result  runner.Result
		Files   []content
		Failure *runner.Failure `json:",omitempty"`
	}
)

// Claim asks for an item.
func (c *Client) Claim(ctx context.Context, itemID, host string) (runner.Attempt, error) {
	var it runner.Attempt
	said, err := c.ask(ctx, itemID, verbClaim, claim{host})
	if err != nil {
		return it, err
	}
	return it, decodeMessage(said, &it)
}

// Fetch gets the content of an input. One that was fetched before is read without asking the orchestrator; an attempt
// that was overtaken is refused when it reports.
func (c *Client) Fetch(ctx context.Context, itemID, sum string) ([]byte, error) {
	runID, err := runOf(itemID)
	if err != nil {
		return nil, err
	}
	data, found, err := c.read(ctx, runID, sum)
	if err != nil || found {
		return data, err
	}
	if _, err := c.ask(ctx, itemID, verbFetch, fetch{sum}); err != nil {
		return nil, err
	}
	data, found, err = c.read(ctx, runID, sum)
	if err == nil && !found {
		err = runOver(runID) // cleared in between
	}
	return data, err
}

// Report reports a model call.
func (c *Client) Report(ctx context.Context, itemID string, r runner.Report) error {
	out, contents := report{Report: r}, []blob(nil)
	if e := r.Evidence; e != nil {
		b, err := newBlob(e.Data)
		if err != nil {
			return err
		}
		out.Report.Evidence, out.Evidence, contents = nil, &content{e.Path, b.sha256}, []blob{b}
	}
	_, err := c.ask(ctx, itemID, verbReport, out, contents...)
	return err
}

// Deliver hands over what an item gave back.
func (c *Client) Deliver(ctx context.Context, itemID string, r runner.Result, failure *runner.Failure) error {
	out, contents := delivery{Result: r, Failure: failure}, []blob(nil)
	out.Result.Files = nil
	for _, f := range r.Files {
		b, err := newBlob(f.Data)
		if err != nil {
			return err
		}
		out.Files, contents = append(out.Files, content{f.Path, b.sha256}), append(contents, b)
	}
	_, err := c.ask(ctx, itemID, verbDeliver, out, contents...)
	return err
}

func encodeMessage(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Failed, "write a message: %w", err)
	}
	return body, nil
}

// decodeMessage reads what another version of ramet may have written.
func decodeMessage(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fault.New(fault.InvalidText, "a message is not readable: %w", err).WithHint("run the same version of ramet on all hosts")
	}
	return nil
}

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
		// No worker is to wait for it. The epoch stays.
		s.once(context.WithoutCancel(ctx), `UPDATE desks SET seen_at = '-infinity' WHERE run_id = $1 AND owner = $2`, s.runID, s.owner)
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
