package store

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// Allowances implements registry.Budgets. The walks go one way by genesis_id, so
// that a damaged tree cannot lead them in a circle. They are several statements,
// because engines plan one for all as if every agent had limits; what is spent
// only grows, so that it does not matter when exactly each was read; what is held is read
// before, because a hold is given back when what it came to was added to what is spent.
func (r reader) Allowances(ctx context.Context, a id.Agent) ([]registry.Allowance, error) {
	givers, err := r.givers(ctx, a)
	if err != nil {
		return nil, r.fail("read budgets", err)
	}
	var out []registry.Allowance
	for _, g := range givers {
		of, err := r.Agent(ctx, g)
		if err != nil {
			return nil, err
		}
		l := registry.Allowance{Of: of, Budget: of.Budget}
		if l.Budget.IsZero() {
			continue // taken away since
		}
		if l.Held, err = r.heldBelow(ctx, of, ""); err != nil {
			return nil, r.fail("read holds", err)
		}
		if l.Spent, err = r.spentBelow(ctx, of); err != nil {
			return nil, r.fail("read spending", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// Spent implements registry.Budgets.
func (r reader) Spent(ctx context.Context, a id.Agent) (agent.Spending, error) {
	of, err := r.Agent(ctx, a)
	if err != nil {
		return agent.Spending{}, err
	}
	s, err := r.spentBelow(ctx, of)
	if err != nil {
		return s, r.fail("read spending", err)
	}
	return s, nil
}

// Held implements registry.Budgets.
func (r reader) Held(ctx context.Context, a id.Agent) (agent.Spending, error) {
	of, err := r.Agent(ctx, a)
	if err != nil {
		return agent.Spending{}, err
	}
	s, err := r.heldBelow(ctx, of, "")
	if err != nil {
		return s, r.fail("read holds", err)
	}
	return s, nil
}

// Calls implements registry.Budgets.
func (r reader) Calls(ctx context.Context, since time.Time) iter.Seq2[history.Entry, error] {
	return stream(ctx, r, "read usage", func(rows *sql.Rows) (history.Entry, bool, error) {
		e := history.Entry{Kind: history.Usage}
		var created int64
		err := rows.Scan(&e.ID, &e.Agent, &e.Meta, &created)
		e.CreatedAt = fromMicros(created)
		return e, true, err
	}, `SELECT id, agent_uuid, meta, created_at FROM messages WHERE kind = 'usage' AND created_at >= $1 ORDER BY id`, micros(since))
}

// givers returns an agent and its ancestors that have limits, nearest first.
func (r reader) givers(ctx context.Context, a id.Agent) ([]id.Agent, error) {
	var out []id.Agent
	known := false
	err := each(ctx, r.q, func(rows *sql.Rows) error {
		var giver id.Agent
		var gives bool
		err := rows.Scan(&giver, &gives)
		if known = true; gives {
			out = append(out, giver)
		}
		return err
	}, `
		WITH RECURSIVE line(uuid, parent_uuid, genesis_id, tokens, cost) AS (
			SELECT uuid, parent_uuid, genesis_id, budget_tokens, budget_cost FROM agents WHERE uuid = $1
			UNION ALL
			SELECT a.uuid, a.parent_uuid, a.genesis_id, a.budget_tokens, a.budget_cost
			FROM line JOIN agents a ON a.uuid = line.parent_uuid AND a.genesis_id < line.genesis_id
		)
		SELECT uuid, tokens IS NOT NULL OR cost IS NOT NULL FROM line
		WHERE uuid = $1 OR tokens IS NOT NULL OR cost IS NOT NULL ORDER BY genesis_id DESC`, string(a))
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, noAgent(a)
	}
	return out, nil
}

// spentBelow adds up what an agent and everything below it spent.
func (r reader) spentBelow(ctx context.Context, a agent.Agent) (s agent.Spending, err error) {
	const sum = `SELECT CAST(coalesce(sum(spent_tokens), 0) AS BIGINT), CAST(coalesce(sum(spent_cost), 0) AS BIGINT) FROM `
	if a.IsZero() { // everybody is below it
		err = r.q.QueryRowContext(ctx, sum+`agents`).Scan(&s.Tokens, &s.Cost)
		return s, err
	}
	err = r.q.QueryRowContext(ctx, `
		WITH RECURSIVE tree(uuid, genesis_id, spent_tokens, spent_cost) AS (
			SELECT uuid, genesis_id, spent_tokens, spent_cost FROM agents WHERE uuid = $1
			UNION ALL
			SELECT a.uuid, a.genesis_id, a.spent_tokens, a.spent_cost
			FROM tree JOIN agents a ON a.parent_uuid = tree.uuid AND a.genesis_id > tree.genesis_id
		) `+sum+`tree`, string(a.ID)).Scan(&s.Tokens, &s.Cost)
	return s, err
}

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
