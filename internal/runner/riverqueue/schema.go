package riverqueue

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"ramet/internal/store/database"
)

// migrate has River make its tables, by one host at a time; it needs no right to make
// anything where they are.
func (q *Queue) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Schema: q.schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if done, err := upToDate(ctx, m); done || err != nil {
		return err
	}
	// River's steps are transactions of their own; this one only keeps others waiting.
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '1min'`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, database.SchemaLock); err != nil {
			return err
		}
		if done, err := upToDate(ctx, m); done || err != nil {
			return err // another host was faster
		}
		if _, err := q.pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{q.schema}.Sanitize()); err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// upToDate reports whether River's tables are there. Those of a newer River are, too: it
// changes them so that an older one continues to work.
func upToDate(ctx context.Context, m *rivermigrate.Migrator[pgx.Tx]) (bool, error) {
	found, err := m.Validate(ctx, nil)
	return err == nil && found.OK, err
}
