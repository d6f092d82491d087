package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/testkit"
)

// A durable append costs little more than its statements: the bare side runs
// the same ones, with values made beforehand.
func BenchmarkAppendAgainstBareDriver(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, _ := e.make(b)
		writer := child(b, s)
		other, place := e.make(b)
		bare := bareAppender(b, e, place, child(b, other))
		var theirs, ours times
		n := 0
		round := func() {
			for range scaled(500) {
				n++
				said := drafts(b, n, 1)
				theirs.of(func() { bare(n) })
				ours.of(func() {
					if _, err := s.Append(b.Context(), writer, agent.Passing(), said...); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
		round()
		theirs, ours = nil, nil // the first hundreds are slower
		for b.Loop() {
			round()
		}
		atLeast(b, e.name+": durable appends / the bare driver's", "", theirs.at(0.5)/ours.at(0.5), 0.8)
		shown(b, e.name+": durable appends of one writer", "/s", 1e9/ours.at(0.5))
	})
}

// bareAppender runs the statements of one append, prepared: lock the agent's
// row, take an id, insert the entry, move the head.
func bareAppender(b *testing.B, e engine, place string, writer id.Agent) func(n int) {
	db := e.bare(b, place)
	lock := `SELECT concat_ws(' ', uuid, genesis_id, coalesce(parent_uuid, ''), status, coalesce(name, ''), created_at, own, total,
		coalesce(fork_message_id, 0), depth, coalesce(ended_at, 0), lease_epoch, coalesce(lease_until, 0), head_id),
		head_hash, provider, model, cwd, end_reason, lease_owner, `
	next := `SELECT coalesce(max(id), 0) + 1 FROM messages`
	if e.name == "SQLite" {
		lock += `CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER) FROM agents WHERE uuid = $1`
	} else {
		lock += `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM agents WHERE uuid = $1 FOR UPDATE`
		next = `SELECT nextval('message_ids') FROM generate_series(1, 1)`
	}
	prepare := func(query string) *sql.Stmt {
		s := must[*sql.Stmt](b)(db.PrepareContext(b.Context(), query))
		b.Cleanup(func() { s.Close() })
		return s
	}
	locking, taking := prepare(lock), prepare(next)
	const insert = `INSERT INTO messages (id, agent_uuid, kind, content, meta, created_at, hash, salt, commitment, seq)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)`
	const move = `UPDATE agents SET name = $12, status = $13, end_reason = $14, ended_at = $15, lease_owner = $16,
		lease_epoch = $17, lease_until = $18, head_id = $19, head_hash = $20, own = $21, total = $22 WHERE uuid = $11`
	var writing []*sql.Stmt // of SQLite two statements, of PostgreSQL one with both
	if e.name == "SQLite" {
		writing = []*sql.Stmt{prepare(insert), prepare(fromOne(move))}
	} else {
		writing = []*sql.Stmt{prepare(`WITH s0 AS (` + insert + `) ` + move)}
	}
	salt, hash := chain.NewSalt(), chain.Sum(nil)
	run := func(ctx context.Context, n int, content []byte) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var words, provider, model, cwd string
		var head []byte
		var reason, owner sql.NullString
		var now, m int64
		if err := tx.StmtContext(ctx, locking).QueryRowContext(ctx, string(writer)).
			Scan(&words, &head, &provider, &model, &cwd, &reason, &owner, &now); err != nil {
			return err
		}
		if err := tx.StmtContext(ctx, taking).QueryRowContext(ctx).Scan(&m); err != nil {
			return err
		}
		args := []any{m, string(writer), "user", content, "{}", now, hash[:], salt[:], hash[:], n,
			string(writer), nil, "running", nil, nil, nil, 0, nil, m, hash[:], n, n}
		for i, w := range writing {
			own := args
			if len(writing) == 2 {
				own = [][]any{args[:10], args[10:]}[i]
			}
			if _, err := tx.StmtContext(ctx, w).ExecContext(ctx, own...); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
	return func(n int) {
		testkit.OK(b, run(b.Context(), n, []byte(`[{"type":"text","text":"`+line(n)+`"}]`)))
	}
}

// fromOne counts the placeholders of the second statement from 1.
func fromOne(query string) string {
	for n := 11; n <= 22; n++ {
		query = strings.ReplaceAll(query, fmt.Sprintf("$%d", n), fmt.Sprintf("$%d", n-10))
	}
	return query
}
