package mailbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
)

// PutHandover stores the record that a host needs to take the run over, in place of the one before.
func (c *Client) PutHandover(ctx context.Context, runID string, body []byte) error {
	return c.durable(ctx, `INSERT INTO wills (run_id, body) VALUES ($1, $2) ON CONFLICT (run_id) DO UPDATE SET body = excluded.body`, runID, body)
}

// PutFile keeps a copy of a file of the run's folder. One that is too large is not kept: the
// next orchestrator has it made again.
func (c *Client) PutFile(ctx context.Context, runID, path string, data []byte) error {
	if len(data) > largest {
		return nil
	}
	b, err := newBlob(data)
	if err != nil {
		return err
	}
	return c.durable(ctx, `INSERT INTO files AS f (run_id, path, sha256, data) VALUES ($1, $2, $3, $4)
		ON CONFLICT (run_id, path) DO UPDATE SET sha256 = excluded.sha256, data = excluded.data WHERE f.sha256 <> excluded.sha256`, runID, path, b.sha256, b.data)
}

// Copied returns the hashes of the files that copies are kept of, by path.
func (c *Client) Copied(ctx context.Context, runID string) (sums map[string]string, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		rows, err := c.pool.Query(ctx, `SELECT path, sha256 FROM files WHERE run_id = $1`, runID)
		if err != nil {
			return err
		}
		sums = map[string]string{}
		var path, sum string
		_, err = pgx.ForEachRow(rows, []any{&path, &sum}, func() error { sums[path] = sum; return nil })
		return err
	})
	return sums, err
}

// durable executes a statement that may be executed twice, and returns when it is on the disk.
func (c *Client) durable(ctx context.Context, query string, args ...any) error {
	return c.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, waitForDisk); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Files hands over the copies that are not there yet, one at a time: there returns the hash that a
// file has now. A copy that is not what was put is STORAGE_CORRUPT.
func (c *Client) Files(ctx context.Context, runID string, there func(path string) (sha256 string, ok bool), take func(path string, data []byte) error) (taken int, err error) {
	sums, err := c.Copied(ctx, runID)
	if err != nil {
		return 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		if sum, ok := there(path); ok && sum == sums[path] {
			continue
		}
		var data []byte
		err := c.persist(ctx, func(ctx context.Context) error {
			return c.pool.QueryRow(ctx, `SELECT data FROM files WHERE run_id = $1 AND path = $2 AND sha256 = $3`, runID, path, sums[path]).Scan(&data)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			continue // replaced or cleared meanwhile
		}
		if err != nil {
			return taken, err
		}
		if chain.Sum(data).String() != sums[path] {
			return taken, fault.New(fault.StorageCorrupt, "%s: the copy of %s of run %s was changed", c.place, path, runID)
		}
		if err := take(path, data); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

// seenAgo is the column of the microseconds since a host or an orchestrator was seen.
const seenAgo = `(extract(epoch FROM clock_timestamp() - seen_at) * 1000000)::bigint`

// OrphanedRuns names the runs that another host may take over: their orchestrators left a handover record and are
// gone, without having released the run.
func (c *Client) OrphanedRuns(ctx context.Context, lease time.Duration) (runs []string, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		runs = nil
		rows, err := c.pool.Query(ctx, `SELECT run_id, `+seenAgo+` FROM desks JOIN wills USING (run_id) WHERE seen_at > '-infinity' ORDER BY run_id`)
		if err != nil {
			return err
		}
		var runID string
		var ago int64
		_, err = pgx.ForEachRow(rows, []any{&runID, &ago}, func() error {
			if ownerGone(ago, max(lease, leaseTime)) {
				runs = append(runs, runID)
			}
			return nil
		})
		return err
	})
	return runs, err
}

// ClaimHandover lets the caller take a run over for a lease, and returns the handover record. ok is
// false if its orchestrator is not gone, or another host was quicker. The orchestrator before, if it is alive after
// all, is refused from now on.
func (c *Client) ClaimHandover(ctx context.Context, runID string, lease time.Duration) (record []byte, ok bool, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		var owner uuid.UUID
		var at time.Time
		var ago int64
		err := c.pool.QueryRow(ctx, `SELECT owner, seen_at, `+seenAgo+` FROM desks WHERE run_id = $1 AND seen_at > '-infinity'`, runID).Scan(&owner, &at, &ago)
		if err == nil && ownerGone(ago, max(lease, leaseTime)) {
			err = c.pool.QueryRow(ctx, `WITH claimed AS (UPDATE desks SET seen_at = clock_timestamp(), owner = $4 WHERE run_id = $1 AND owner = $2 AND seen_at = $3 RETURNING run_id)
				SELECT body FROM wills JOIN claimed USING (run_id)`, runID, owner, at, uuid.New()).Scan(&record)
			ok = err == nil
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return record, ok, err
}

// Release records that a run has no orchestrator, and that any host may take it over.
func (c *Client) Release(ctx context.Context, runID string) {
	c.once(context.WithoutCancel(ctx), `UPDATE desks SET seen_at = 'epoch' WHERE run_id = $1`, runID)
}

// Host is a process that does items.
type Host struct {
	Name     string
	Queues   []string
	Parallel int
	Version  string        // of ramet
	Seen     time.Duration // ago, by the clock of the database
}

// Beat shows every third of a lease that a host is alive, until ctx ends. Then it takes
// the host off the list: it left, it did not die.
func (c *Client) Beat(ctx context.Context, h Host, lease time.Duration) error {
	if h.Name == "" || lease <= 0 {
		return fault.New(fault.Usage, "a host needs a name and a lease")
	}
	if h.Queues == nil {
		h.Queues = []string{}
	}
	tick := time.NewTicker(max(lease/3, time.Millisecond))
	defer tick.Stop()
	for {
		_, err := c.exec(ctx, `INSERT INTO hosts (host, seen_at, queues, parallel, version) VALUES ($1, clock_timestamp(), $2, $3, $4)
			ON CONFLICT (host) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues, parallel = excluded.parallel, version = excluded.version`,
			h.Name, h.Queues, h.Parallel, h.Version)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			c.once(context.WithoutCancel(ctx), `DELETE FROM hosts WHERE host = $1`, h.Name) // if it fails, it is taken for dead
			return nil
		case <-tick.C:
		}
	}
}

// Hosts lists the hosts, by name.
func (c *Client) Hosts(ctx context.Context) (hosts []Host, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		rows, err := c.pool.Query(ctx, `SELECT host, queues, parallel, version, `+seenAgo+` FROM hosts ORDER BY host`)
		if err != nil {
			return err
		}
		hosts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Host, err error) {
			var ago int64
			err = row.Scan(&h.Name, &h.Queues, &h.Parallel, &h.Version, &ago)
			h.Seen = time.Duration(ago) * time.Microsecond
			return h, err
		})
		return err
	})
	return hosts, err
}

// Gone reports whether a host is gone: it was not seen for a lease.
func (h Host) Gone(lease time.Duration) bool { return ownerGone(h.Seen.Microseconds(), lease) }

// ownerGone reports whether the owner of a row is gone that was last seen so many microseconds ago, for hosts and desks.
func ownerGone(ago int64, lease time.Duration) bool {
	var now time.Time // only the time since counts: it is by the clock of the database
	until := now.Add(lease - time.Duration(ago)*time.Microsecond)
	return agent.OwnerGone(agent.Lease{Owner: "a process", Until: until}, now, agent.CannotKnow)
}

// Forget takes a dead host off the list, when its jobs are given back. One that was
// seen within the lease again stays.
func (c *Client) Forget(ctx context.Context, host string, lease time.Duration) error {
	_, err := c.exec(ctx, `DELETE FROM hosts WHERE host = $1 AND seen_at < clock_timestamp() - make_interval(secs => $2)`, host, lease.Seconds())
	return err
}
