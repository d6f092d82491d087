package store

import (
	"context"
	"database/sql"
	"errors"

	"ramet/internal/agent"
	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/id"
)

// querier is a database or a transaction of one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// reader is the reading side, of the database or within a transaction.
type reader struct {
	q querier
	d Dialect
}

const agentColumns = `uuid, coalesce(name, ''), coalesce(parent_uuid, ''), coalesce(fork_message_id, 0), depth, status,
	coalesce(end_reason, ''), provider, model, cwd, created_at, coalesce(ended_at, 0),
	coalesce(lease_owner, ''), lease_epoch, coalesce(lease_until, 0), head_id, head_hash, own, total`

func scanAgent(scan func(...any) error, more ...any) (agent.Agent, error) {
	var a agent.Agent
	var created, ended, until int64
	var hash []byte
	err := scan(append([]any{&a.ID, &a.Name, &a.Parent, &a.ForkMessage, &a.Depth, &a.Status, &a.EndReason,
		&a.Provider, &a.Model, &a.Cwd, &created, &ended, &a.Lease.Owner, &a.Lease.Epoch, &until,
		&a.Head, &hash, &a.Own, &a.Total}, more...)...)
	a.CreatedAt, a.EndedAt, a.Lease.Until = fromMicros(created), fromMicros(ended), fromMicros(until)
	a.HeadHash = toHash(hash)
	return a, err
}

// toHash gives the zero Hash, which fits nothing, for bytes that are none.
func toHash(b []byte) chain.Hash {
	if len(b) != len(chain.Hash{}) {
		return chain.Hash{}
	}
	return chain.Hash(b)
}

func (r reader) agents(ctx context.Context, where string, args ...any) ([]agent.Agent, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT `+agentColumns+` FROM agents `+where, args...)
	if err != nil {
		return nil, r.fail("read agents", err)
	}
	defer rows.Close()
	var out []agent.Agent
	for rows.Next() {
		a, err := scanAgent(rows.Scan)
		if err != nil {
			return nil, r.fail("read agents", err)
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		return nil, r.fail("read agents", err)
	}
	return out, nil
}

func (r reader) oneAgent(ctx context.Context, where string, args ...any) (agent.Agent, bool, error) {
	found, err := r.agents(ctx, where+` LIMIT 1`, args...)
	if err != nil || len(found) == 0 {
		return agent.Agent{}, false, err
	}
	return found[0], true, nil
}

// Agent implements agent.Directory.
func (r reader) Agent(ctx context.Context, a id.Agent) (agent.Agent, error) {
	found, ok, err := r.oneAgent(ctx, `WHERE uuid = $1`, string(a))
	if err == nil && !ok {
		err = noAgent(a)
	}
	return found, err
}

func noAgent(a id.Agent) error {
	return fault.New(fault.NotFound, "no agent %q", a).WithHint("`ramet ps --all` lists the agents")
}

// Zero implements agent.Directory.
func (r reader) Zero(ctx context.Context) (agent.Agent, error) {
	found, ok, err := r.oneAgent(ctx, `WHERE parent_uuid IS NULL`)
	if err == nil && !ok {
		err = fault.New(fault.HistoryDamaged, "agent 0 is missing")
	}
	return found, err
}

// Agents implements agent.Directory.
func (r reader) Agents(ctx context.Context, f agent.Filter) ([]agent.Agent, error) {
	where := `WHERE status = 'running'`
	if f.Dead {
		where = ``
	}
	list, err := r.agents(ctx, where+` ORDER BY genesis_id`)
	if err != nil {
		return nil, err
	}
	unread, err := r.unread(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Unread = unread[list[i].ID]
	}
	return list, nil
}

func (r reader) unread(ctx context.Context) (map[id.Agent]int64, error) {
	rows, err := r.q.QueryContext(ctx,
		`SELECT to_uuid, count(*) FROM mail WHERE read_at IS NULL AND deleted_at IS NULL GROUP BY to_uuid`)
	if err != nil {
		return nil, r.fail("count mail", err)
	}
	defer rows.Close()
	out := map[id.Agent]int64{}
	for rows.Next() {
		var a id.Agent
		var n int64
		if err := rows.Scan(&a, &n); err != nil {
			return nil, r.fail("count mail", err)
		}
		out[a] = n
	}
	if err := rows.Err(); err != nil {
		return nil, r.fail("count mail", err)
	}
	return out, nil
}

// Named implements agent.Directory.
func (r reader) Named(ctx context.Context, name string) (agent.Agent, bool, error) {
	a, ok, err := r.oneAgent(ctx, `WHERE name = $1 AND status = 'running'`, name)
	if ok || err != nil {
		return a, ok, err
	}
	return r.oneAgent(ctx, `WHERE name = $1 AND status = 'dead' ORDER BY ended_at DESC, genesis_id DESC`, name)
}

// Prefixed implements agent.Directory.
func (r reader) Prefixed(ctx context.Context, prefix string, limit int) ([]agent.Agent, error) {
	// '~' sorts behind every character of a uuid in both engines' byte order.
	return r.agents(ctx, `WHERE uuid >= $1 AND uuid < $2 ORDER BY uuid LIMIT $3`, prefix, prefix+"~", limit)
}

// Names implements agent.Directory.
func (r reader) Names(ctx context.Context) ([]string, error) {
	rows, err := r.q.QueryContext(ctx,
		`SELECT name FROM agents WHERE name IS NOT NULL AND status = 'running' ORDER BY name`)
	if err != nil {
		return nil, r.fail("read names", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, r.fail("read names", err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		return nil, r.fail("read names", err)
	}
	return out, nil
}

// lock reads an agent's row, holds it until the end of the transaction, and
// tells the database's time.
func (r reader) lock(ctx context.Context, a id.Agent) (agent.Agent, int64, error) {
	var now int64
	row := r.q.QueryRowContext(ctx,
		`SELECT `+agentColumns+`, `+r.d.Now()+` FROM agents WHERE uuid = $1`+r.d.ForUpdate(), string(a))
	found, err := scanAgent(row.Scan, &now)
	if errors.Is(err, sql.ErrNoRows) {
		return found, now, noAgent(a)
	}
	return found, now, err
}
