package store

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Reserve implements registry.Budgets. All who share a limit share the topmost one above it,
// so its row is the one lock; what is read afterwards is what others have committed.
func (s *Store) Reserve(ctx context.Context, h registry.Hold) error {
	return s.write(ctx, "reserve", func(tx Tx) error {
		r := reader{q: tx, d: s.d}
		givers, err := r.givers(ctx, h.Agent)
		if err != nil {
			return err
		}
		if len(givers) > 0 {
			if _, _, err := r.lock(ctx, givers[len(givers)-1]); err != nil {
				return err
			}
		}
		who, err := r.Agent(ctx, h.Agent)
		if err == nil {
			err = agent.NeedLiving(who)
		}
		if err != nil || len(givers) == 0 {
			return err
		}
		for _, g := range givers {
			l := registry.Allowance{}
			if l.Of, err = r.Agent(ctx, g); err != nil {
				return err
			}
			l.Budget = l.Of.Budget
			if l.Held, err = r.heldBelow(ctx, l.Of, h.ID); err != nil {
				return err
			}
			if l.Spent, err = r.spentBelow(ctx, l.Of); err != nil {
				return err
			}
			if tokens, cost, bound, priced := l.Left(); bound && h.Worst.Tokens > tokens || priced && h.Worst.Cost > cost {
				return registry.Short{Allowance: l}
			}
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO holds (id, agent_uuid, owner, tokens, cost, created_at)
			VALUES ($1, $2, $3, $4, $5, `+s.d.Now()+`) ON CONFLICT (id) DO NOTHING`,
			h.ID, string(h.Agent), h.Owner, h.Worst.Tokens, h.Worst.Cost)
		return err
	})
}

// Settle implements registry.Budgets.
func (s *Store) Settle(ctx context.Context, hold string) error {
	return s.write(ctx, "settle", func(tx Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE id = $1`, hold)
		return err
	})
}

// heldBelow adds up what calls of an agent and everything below it may come to, but for one.
func (r reader) heldBelow(ctx context.Context, a agent.Agent, but string) (s agent.Spending, err error) {
	const sum = `SELECT CAST(coalesce(sum(holds.tokens), 0) AS BIGINT), CAST(coalesce(sum(holds.cost), 0) AS BIGINT) FROM holds`
	if a.IsZero() {
		err = r.q.QueryRowContext(ctx, sum+` WHERE id <> $1`, but).Scan(&s.Tokens, &s.Cost)
		return s, err
	}
	// Upwards from the holds, which are few.
	err = r.q.QueryRowContext(ctx, `
		WITH RECURSIVE line(hold, uuid, parent_uuid, genesis_id) AS (
			SELECT holds.id, a.uuid, a.parent_uuid, a.genesis_id FROM holds JOIN agents a ON a.uuid = holds.agent_uuid
			UNION ALL
			SELECT line.hold, a.uuid, a.parent_uuid, a.genesis_id
			FROM line JOIN agents a ON a.uuid = line.parent_uuid AND a.genesis_id < line.genesis_id
			WHERE line.uuid <> $1
		) `+sum+` WHERE id <> $2 AND id IN (SELECT hold FROM line WHERE uuid = $1)`, string(a.ID), but).Scan(&s.Tokens, &s.Cost)
	return s, err
}
