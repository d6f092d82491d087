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
