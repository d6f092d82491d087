package store

import (
	"context"
	"database/sql"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// wordsAtOnce limits how many agents one question names.
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
	list, args := listOf(of, func(a id.Agent) string { return string(a) })
	var uuid string
	var asked, said []byte
	var askedAt, at sql.NullInt64
	return each(ctx, r.q, func(rows *sql.Rows) error {
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
		return nil
	}, newestWords(r.d)+list, args...)
}

// newestWords: behind a clear nothing is found of what it ended. A user's words may stand far back, before a turn of
// thousands of calls: two indices know where they and the clear are.
func newestWords(d Dialect) string {
	newest := func(above, wanted string) string {
		return `(SELECT id FROM messages WHERE ` + d.Backwards(`a.uuid`, above, `a.head_id`, wanted) + ` LIMIT 1)`
	}
	cleared := `coalesce(` + newest(`0`, ` AND `+shaping()+` AND kind = 'clear'`) + `, 0)`
	return `SELECT a.uuid, u.content, u.created_at, s.content, h.created_at FROM agents a
		LEFT JOIN messages u ON u.id = ` + newest(cleared, ` AND kind = 'user'`) + `
		LEFT JOIN messages s ON s.id = ` + newest(`0`, ` AND kind IN ('assistant', 'clear')`) + `
		LEFT JOIN messages h ON h.id = a.head_id
		WHERE a.uuid IN `
}

// Outline sums up a workspace, for lists of workspaces.
type Outline struct {
	Folder string // of agent 0
	Agents int    // that live
	Asked  string // the newest words to agent 0
}

// Look reads the outline of a workspace of any version: what it reads has been there since the first.
func Look(ctx context.Context, db *sql.DB, d Dialect) (Outline, error) {
	var out Outline
	var zero id.Agent
	err := db.QueryRowContext(ctx, `SELECT uuid, cwd, (SELECT count(*) FROM agents WHERE status = 'running') FROM agents WHERE parent_uuid IS NULL`).
		Scan(&zero, &out.Folder, &out.Agents)
	if err != nil {
		return Outline{}, err
	}
	words, err := reader{q: db, d: d}.wordsOf(ctx, []id.Agent{zero})
	out.Asked = words[zero].Asked
	return out, err
}
