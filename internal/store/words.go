package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/registry"
)

// wordsAtOnce is how many agents one question names.
const wordsAtOnce = 500

// Words implements registry.Speakers: for each agent a look at the end of its own history,
// backwards to the newest entries of a user's voice and of its own.
func (r reader) Words(ctx context.Context, of ...id.Agent) (map[id.Agent]registry.Words, error) {
	out, err := r.wordsOf(ctx, of)
	if err != nil {
		return nil, r.fail("read the newest words", err)
	}
	return out, nil
}

func (r reader) wordsOf(ctx context.Context, of []id.Agent) (map[id.Agent]registry.Words, error) {
	out := make(map[id.Agent]registry.Words, len(of))
	for some := range slices.Chunk(of, wordsAtOnce) {
		if err := r.words(ctx, some, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r reader) words(ctx context.Context, of []id.Agent, into map[id.Agent]registry.Words) error {
	marks, args := make([]string, len(of)), make([]any, len(of))
	for i, a := range of {
		marks[i], args[i] = fmt.Sprintf("$%d", i+1), string(a)
	}
	rows, err := r.q.QueryContext(ctx, wordsQuery+`(`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var uuid string
	var asked, said []byte
	var askedAt, at sql.NullInt64
	for rows.Next() {
		if err := rows.Scan(&uuid, &asked, &askedAt, &said, &at); err != nil {
			return err
		}
		w := registry.Words{At: fromMicros(at.Int64)}
		if parts, err := (history.Entry{Content: asked}).Parts(); err == nil && len(asked) > 0 { // verify tells of damage
			w.Asked, w.AskedAt = registry.AskedWords(parts), fromMicros(askedAt.Int64)
		}
		if parts, err := (history.Entry{Content: said}).Parts(); err == nil && len(said) > 0 {
			w.Said = registry.SaidWords(parts)
		}
		into[id.Agent(uuid)] = w
	}
	return rows.Err()
}

// A clear has no content: what it ended is not found behind it.
const wordsQuery = `SELECT a.uuid, u.content, u.created_at, s.content, h.created_at FROM agents a
	LEFT JOIN messages u ON u.id = (SELECT m.id FROM messages m WHERE m.agent_uuid = a.uuid AND m.kind IN ('user', 'clear') ORDER BY m.id DESC LIMIT 1)
	LEFT JOIN messages s ON s.id = (SELECT m.id FROM messages m WHERE m.agent_uuid = a.uuid AND m.kind IN ('assistant', 'clear') ORDER BY m.id DESC LIMIT 1)
	LEFT JOIN messages h ON h.id = a.head_id
	WHERE a.uuid IN `
