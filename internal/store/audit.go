package store

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
)

// Audit checks everything, in one consistent view of the database, and returns the first damage
// (HISTORY_DAMAGED). heads, if any, are those of a checkpoint kept elsewhere.
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
		if err := u.Agent(a, func() (int64, error) { return r.contextSize(ctx, a.ID) }); err != nil {
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

// GC drops blobs that no entry names.
func (s *Store) GC(ctx context.Context) (registry.Swept, error) { return s.gc(ctx, true) }

// PlanGC returns what GC would drop.
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

// auditRecords reads records, while those before them are checked: both take about as long.
func (r reader) auditRecords(ctx context.Context, u *registry.Auditor) error {
	var s recordScan
	told := registry.Watcher(ctx)
	for e, err := range history.ReadAhead(stream(ctx, r, "read records", func(rows *sql.Rows) (history.Record, bool, error) {
		e, err := s.scan(rows)
		return e, true, err
	}, `SELECT `+recordColumns+` FROM messages ORDER BY id`)) {
		if err == nil {
			err = u.Record(e)
		}
		if err != nil {
			return err
		}
		told(1)
	}
	return nil
}

// recordColumns are those of recordScan.
const recordColumns = entryColumns + `, salt, commitment, seq`

// recordScan reads records, one after the other, which belong to the caller.
type recordScan struct {
	entryScan
	salt       storedBytes
	commitment sql.RawBytes
	seq        int64
}

func (s *recordScan) scan(rows *sql.Rows) (history.Record, error) {
	s.more = []any{&s.salt, &s.commitment, &s.seq}
	e, err := s.entryScan.scan(rows)
	return history.Record{Entry: e, Salt: s.salt, Commitment: toHash(s.commitment), Seq: s.seq}, err
}

// Proofs does what View does for those who show entries with what proves them.
func (s *Store) Proofs(ctx context.Context, look func(history.Proofs) error) error {
	return s.View(ctx, func(log history.Log) error { return look(log.(reader)) })
}

// Records implements history.Proofs.
func (r reader) Records(ctx context.Context, rg history.Range) iter.Seq2[history.Record, error] {
	return func(yield func(history.Record, error) bool) {
		var s recordScan
		stream(ctx, r, "read records", func(rows *sql.Rows) (history.Record, bool, error) {
			e, err := s.scan(rows)
			return e, true, err
		}, `SELECT `+recordColumns+` FROM messages
			WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(rg.Agent), int64(rg.Start), limitOf(rg.End))(yield)
	}
}

// Ties reads the newest of each, at most so many, as they are at one moment. What it costs does not depend on how much was
// said.
func (s *Store) Ties(ctx context.Context, most int) (registry.Ties, error) {
	var out registry.Ties
	tx, err := s.snapshot(ctx)
	if err != nil {
		return out, s.fail("look", err)
	}
	defer tx.Rollback() // nothing was written
	r := reader{tx, s.d}
	if err := r.shapes(ctx, most, &out); err != nil {
		return out, r.fail("read what shaped the histories", err)
	}
	if err := r.post(ctx, most, &out); err != nil {
		return out, r.fail("read mail", err)
	}
	return out, nil
}

// shapes reads through the index of what shapes: the + keeps engines from going through all
// that was said, backwards.
func (r reader) shapes(ctx context.Context, most int, out *registry.Ties) error {
	var err error
	out.Shaping, err = collect(ctx, r.q, (&entryScan{}).scan, `SELECT `+entryColumns+` FROM messages WHERE `+shaping()+` ORDER BY +id DESC `+atMost+`$1`, most+1)
	if err != nil {
		return err
	}
	if len(out.Shaping) > most {
		out.Shaping, out.More = out.Shaping[:most], true
	}
	slices.Reverse(out.Shaping)
	out.Times, err = r.times(ctx, rewindTargets(out.Shaping))
	return err
}

// rewindTargets returns the entries to which rewinds go back.
func rewindTargets(entries []history.Entry) (out []id.Message) {
	for _, e := range entries {
		if e.Kind != history.Rewind {
			continue
		}
		if m, err := e.Decode(); err == nil { // verify tells of damage
			if target, err := id.ParseMessage(m.Target); err == nil {
				out = append(out, target)
			}
		}
	}
	return out
}

func (r reader) times(ctx context.Context, of []id.Message) (map[id.Message]time.Time, error) {
	out := make(map[id.Message]time.Time, len(of))
	for some := range slices.Chunk(of, wordsAtOnce) {
		list, args := listOf(some, func(m id.Message) int64 { return int64(m) })
		err := each(ctx, r.q, func(rows *sql.Rows) error {
			var m id.Message
			var at int64
			err := rows.Scan(&m, &at)
			out[m] = fromMicros(at)
			return err
		}, `SELECT id, created_at FROM messages WHERE id IN `+list, args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// post reads letters, but not what they say.
func (r reader) post(ctx context.Context, most int, out *registry.Ties) error {
	var err error
	out.Letters, err = collect(ctx, r.q, func(rows *sql.Rows) (mail.Letter, error) { return scanLetter(rows.Scan) },
		`SELECT `+strings.Replace(letterColumns, " body,", " '',", 1)+` FROM mail ORDER BY id DESC `+atMost+`$1`, most+1)
	if len(out.Letters) > most {
		out.Letters, out.More = out.Letters[:most], true
	}
	slices.Reverse(out.Letters)
	return err
}
