package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
)

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
