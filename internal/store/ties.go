package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// Ties implements registry.Tied.
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
	rows, err := r.q.QueryContext(ctx, `SELECT `+entryColumns+` FROM messages WHERE `+shaping()+` ORDER BY +id DESC `+atMost+`$1`, most+1)
	if err != nil {
		return err
	}
	defer rows.Close()
	var es entryScan
	for rows.Next() {
		e, err := es.scan(rows)
		if err != nil {
			return err
		}
		out.Shaping = append(out.Shaping, e)
	}
	if err := rows.Err(); err != nil {
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
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, m := range some {
			marks[i], args[i] = fmt.Sprintf("$%d", i+1), int64(m)
		}
		rows, err := r.q.QueryContext(ctx, `SELECT id, created_at FROM messages WHERE id IN (`+strings.Join(marks, ", ")+`)`, args...)
		if err != nil {
			return nil, err
		}
		if err := scanTimes(rows, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func scanTimes(rows *sql.Rows, into map[id.Message]time.Time) error {
	defer rows.Close()
	for rows.Next() {
		var m id.Message
		var at int64
		if err := rows.Scan(&m, &at); err != nil {
			return err
		}
		into[m] = fromMicros(at)
	}
	return rows.Err()
}

// post reads letters, but not what they say.
func (r reader) post(ctx context.Context, most int, out *registry.Ties) error {
	rows, err := r.q.QueryContext(ctx, `SELECT `+strings.Replace(letterColumns, " body,", " '',", 1)+` FROM mail ORDER BY id DESC `+atMost+`$1`, most+1)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		l, err := scanLetter(rows.Scan)
		if err != nil {
			return err
		}
		out.Letters = append(out.Letters, l)
	}
	if len(out.Letters) > most {
		out.Letters, out.More = out.Letters[:most], true
	}
	slices.Reverse(out.Letters)
	return rows.Err()
}
