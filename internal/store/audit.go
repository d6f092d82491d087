package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Audit implements registry.Upkeep.
func (s *Store) Audit(ctx context.Context, heads []registry.Head) (registry.Report, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return registry.Report{}, s.fail("verify", err)
	}
	defer tx.Rollback()
	report, err := reader{tx, s.d}.audit(ctx, registry.NewAuditor(heads))
	if err != nil {
		return report, s.fail("verify", err)
	}
	return report, nil
}

func (r reader) audit(ctx context.Context, u *registry.Auditor) (registry.Report, error) {
	if _, err := r.Zero(ctx); err != nil {
		return registry.Report{}, err
	}
	agents, err := r.agents(ctx, `ORDER BY genesis_id`)
	if err != nil {
		return registry.Report{}, err
	}
	for _, a := range agents {
		if err := u.Agent(a, r.sizer(ctx, a)); err != nil {
			return registry.Report{}, err
		}
	}
	for _, pass := range []func(context.Context, *registry.Auditor) error{r.auditRecords, r.auditLetters, r.auditBlobs, r.auditRefs} {
		if err := pass(ctx, u); err != nil {
			return registry.Report{}, err
		}
	}
	return u.Report()
}

func (r reader) sizer(ctx context.Context, a agent.Agent) func() (int64, error) {
	return func() (int64, error) { return r.contextSize(ctx, a.ID) }
}

func (r reader) auditLetters(ctx context.Context, u *registry.Auditor) error {
	return each(ctx, r.q, func(rows *sql.Rows) error {
		var salt []byte
		l, err := scanLetter(rows.Scan, &salt)
		if err != nil {
			return unreadableRow(rows, l.From, 0, err)
		}
		return u.Letter(l, salt)
	}, `SELECT `+letterColumns+`, salt FROM mail ORDER BY id`)
}

func (r reader) auditBlobs(ctx context.Context, u *registry.Auditor) error {
	return each(ctx, r.q, func(rows *sql.Rows) error {
		var hash, packed sql.RawBytes
		if err := rows.Scan(&hash, &packed); err != nil {
			return err
		}
		h := toHash(hash)
		data, err := unpackBlob(h, packed)
		if err != nil {
			data = nil // the auditor knows whose it is
		}
		return u.Blob(h, data)
	}, `SELECT hash, data FROM blobs`)
}

// auditRefs: gc and redaction go by these rows, so they must be what the entries
// say.
func (r reader) auditRefs(ctx context.Context, u *registry.Auditor) error {
	return each(ctx, r.q, func(rows *sql.Rows) error {
		var m id.Message
		var hash sql.RawBytes
		if err := rows.Scan(&m, &hash); err != nil {
			return unreadableRow(rows, "", m, err)
		}
		u.Ref(m, toHash(hash))
		return nil
	}, `SELECT message_id, hash FROM blob_refs`)
}

// GC implements registry.Upkeep.
func (s *Store) GC(ctx context.Context) (registry.Swept, error) { return s.gc(ctx, true) }

// PlanGC implements registry.Auditor.
func (s *Store) PlanGC(ctx context.Context) (registry.Swept, error) { return s.gc(ctx, false) }

func (s *core) gc(ctx context.Context, drop bool) (registry.Swept, error) {
	var out registry.Swept
	err := s.write(ctx, "gc", func(tx Tx) error {
		if err := s.d.LockTable(ctx, tx, "blobs"); err != nil { // else one could be named again meanwhile
			return err
		}
		const unnamed = ` FROM blobs WHERE NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.hash = blobs.hash)`
		if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(data)), 0)`+unnamed).
			Scan(&out.Blobs, &out.Bytes); err != nil || out.Blobs == 0 || !drop {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE`+unnamed)
		return err
	})
	return out, err
}

// Ensure makes agent 0 if the workspace has none. Stores call it while they
// make the tables, in the same transaction.
func Ensure(ctx context.Context, tx Tx, d Dialect, cwd string) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM agents WHERE parent_uuid IS NULL`).Scan(&n); err != nil || n > 0 {
		return err
	}
	if err := registry.CheckField("the folder of agent 0", cwd); err != nil {
		return err
	}
	p, err := (&core{reader: reader{d: d}}).newWriter(ctx, tx, 1)
	if err != nil {
		return err
	}
	zero := &agent.Agent{ID: id.NewAgent(), Status: agent.Running, CreatedAt: p.at, Cwd: cwd}
	if err := p.insert(zero); err != nil {
		return err
	}
	return p.flush(ctx)
}
