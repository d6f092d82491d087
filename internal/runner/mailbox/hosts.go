package mailbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
)

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
		err := c.persist(ctx, func(ctx context.Context) error {
			_, err := c.pool.Exec(ctx, `INSERT INTO hosts (host, seen_at, queues, parallel, version) VALUES ($1, clock_timestamp(), $2, $3, $4)
				ON CONFLICT (host) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues, parallel = excluded.parallel, version = excluded.version`,
				h.Name, h.Queues, h.Parallel, h.Version)
			return err
		})
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
		rows, err := c.pool.Query(ctx, `SELECT host, queues, parallel, version, (extract(epoch FROM clock_timestamp() - seen_at) * 1000000)::bigint FROM hosts ORDER BY host`)
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
func (h Host) Gone(lease time.Duration) bool { return ownerGone(h.Name, 0, h.Seen, lease) }

// ownerGone reports whether the owner of a row that was last seen so long ago is gone, for hosts and desks.
func ownerGone(owner string, epoch int64, seen, lease time.Duration) bool {
	var now time.Time // only the time since counts: it is by the clock of the database
	return agent.OwnerGone(agent.Lease{Owner: owner, Epoch: epoch, Until: now.Add(lease - seen)}, now, agent.CannotKnow)
}

// Forget takes a dead host off the list, when its jobs are given back. One that was
// seen within the lease again stays.
func (c *Client) Forget(ctx context.Context, host string, lease time.Duration) error {
	return c.persist(ctx, func(ctx context.Context) error {
		_, err := c.pool.Exec(ctx, `DELETE FROM hosts WHERE host = $1 AND seen_at < clock_timestamp() - make_interval(secs => $2)`, host, lease.Seconds())
		return err
	})
}
