package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Acquire implements agent.Leases. An agent that no process holds, which most are, is taken and
// read in one statement, by what agent.Grant says of such a one.
func (s leases) Acquire(ctx context.Context, name id.Agent, owner string, ttl time.Duration) (agent.Agent, error) {
	if err := registry.CheckField("the owner of a lease", owner); err != nil {
		return agent.Agent{}, err
	}
	var held agent.Agent
	err := s.write(ctx, "acquire lease", func(tx Tx) error {
		scan := scanAgents()
		err := scan.read(tx.QueryRowContext(ctx, s.takes(), string(name), owner, ttl.Microseconds()).Scan)
		if held = scan.Agent; !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		held, err = s.reletIn(ctx, tx, name, func(a agent.Agent, now time.Time) (agent.Lease, error) {
			if err := agent.NeedLiving(a); err != nil {
				return a.Lease, err
			}
			return agent.Grant(a, owner, now, ttl)
		})
		return err
	})
	return held, err
}

// takes returns the statement that takes an agent which no kernel holds.
func (s *core) takes() string {
	return `UPDATE agents SET lease_owner = $2, lease_epoch = lease_epoch + 1, lease_until = ` + s.d.Now() + ` + $3
		WHERE uuid = $1 AND lease_owner IS NULL AND status = 'running' RETURNING ` + agentColumns
}

// Seize implements agent.Leases.
func (s leases) Seize(ctx context.Context, name id.Agent, from agent.Lease, owner string, ttl time.Duration) (agent.Lease, error) {
	if err := registry.CheckField("the owner of a lease", owner); err != nil {
		return agent.Lease{}, err
	}
	return s.relet(ctx, "seize lease", name, func(a agent.Agent, now time.Time) (agent.Lease, error) {
		if err := agent.NeedLiving(a); err != nil {
			return a.Lease, err
		}
		return agent.Seized(a, from, owner, now, ttl)
	})
}

// Renew implements agent.Leases.
func (s leases) Renew(ctx context.Context, name id.Agent, owner string, epoch int64, ttl time.Duration) (agent.Lease, error) {
	return s.relet(ctx, "renew lease", name, func(a agent.Agent, now time.Time) (agent.Lease, error) {
		return agent.Renewed(a, owner, epoch, now, ttl)
	})
}

const releases = `UPDATE agents SET lease_owner = NULL, lease_until = NULL
	WHERE uuid = $1 AND lease_owner = $2 AND lease_epoch = $3`

// Release implements agent.Leases.
func (s leases) Release(ctx context.Context, name id.Agent, owner string, epoch int64) error {
	return s.write(ctx, "release lease", func(tx Tx) error {
		done, err := tx.ExecContext(ctx, releases, string(name), owner, epoch)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		_, _, err = reader{tx, s.d}.lock(ctx, name) // it was lost already, or there is no such agent
		return err
	})
}

func (s *core) relet(ctx context.Context, verb string, name id.Agent,
	decide func(agent.Agent, time.Time) (agent.Lease, error)) (agent.Lease, error) {
	var held agent.Agent
	err := s.write(ctx, verb, func(tx Tx) (err error) {
		held, err = s.reletIn(ctx, tx, name, decide)
		return err
	})
	return held.Lease, err
}

// reletIn gives the lease of an agent to whom it is decided, and is the agent as it is then.
func (s *core) reletIn(ctx context.Context, tx Tx, name id.Agent,
	decide func(agent.Agent, time.Time) (agent.Lease, error)) (agent.Agent, error) {
	a, now, err := reader{tx, s.d}.lock(ctx, name)
	if err != nil {
		return a, err
	}
	lease, err := decide(a, fromMicros(now))
	if err == nil && lease != a.Lease {
		err = writeLease(ctx, tx, name, lease)
	}
	a.Lease = lease
	return a, err
}

func writeLease(ctx context.Context, tx Tx, name id.Agent, l agent.Lease) error {
	_, err := tx.ExecContext(ctx, `UPDATE agents SET lease_owner = $2, lease_epoch = $3, lease_until = $4 WHERE uuid = $1`,
		string(name), null(l.Owner), l.Epoch, nullTime(l.Until))
	return err
}

// RenewAll implements agent.Leases. The rows are locked in the order in which
// Send locks its two, so that neither waits for the other in a circle. What is
// held comes back as one text: ten thousand rows would take longer to hand over
// than to write.
func (s leases) RenewAll(ctx context.Context, owner string, ttl time.Duration) ([]agent.Holding, error) {
	const mine = ` FROM agents WHERE lease_owner = $1 AND status = 'running'`
	renew := `UPDATE agents SET lease_until = ` + s.d.Now() + ` + $2 WHERE lease_owner = $1 AND status = 'running'`
	if lock := s.d.ForUpdate(); lock != "" {
		renew = `WITH mine AS MATERIALIZED (SELECT genesis_id AS held` + mine + ` ORDER BY uuid` + lock + `)
			UPDATE agents SET lease_until = ` + s.d.Now() + ` + $2 FROM mine WHERE genesis_id = held`
	}
	var held string
	err := s.write(ctx, "renew leases", func(tx Tx) error {
		if _, err := tx.ExecContext(ctx, renew, owner, ttl.Microseconds()); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT coalesce(string_agg(uuid || '`+registry.Separator+`' || lease_epoch, '`+registry.Separator+`'), '')`+mine, owner).Scan(&held)
	})
	if err != nil || held == "" {
		return nil, err
	}
	out := make([]agent.Holding, 0, strings.Count(held, registry.Separator)/2+1)
	w := words{rest: held}
	for w.rest != "" {
		out = append(out, agent.Holding{Agent: id.Agent(w.next()), Epoch: w.number()})
	}
	if w.bad {
		return nil, fmt.Errorf("renew leases: %.200q are not leases", held)
	}
	return out, nil
}

// Leased implements agent.Leases. The time is read first: a lease that is
// renewed meanwhile must not look as if it had run out. The order is made here:
// asked for it, SQLite would walk through all agents in that order.
func (r reader) Leased(ctx context.Context) ([]agent.Agent, time.Time, error) {
	now, err := r.now(ctx)
	if err != nil {
		return nil, time.Time{}, r.fail("read leases", err)
	}
	list, err := r.agents(ctx, `WHERE lease_owner IS NOT NULL AND status = 'running'`)
	slices.SortFunc(list, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	return list, fromMicros(now), err
}

// now returns the database's time.
func (r reader) now(ctx context.Context) (now int64, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT `+r.d.Now()).Scan(&now)
	return now, err
}
