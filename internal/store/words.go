package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
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

// Endings implements state.Store: for each agent a look at the end of its own history,
// backwards over the few entries there that tell nothing of how its last turn ended.
func (r reader) Endings(ctx context.Context, all bool, only ...id.Agent) (map[id.Agent]state.Ending, error) {
	// Of the living who said nothing since their birth there is nothing to tell; the dead were told of their end.
	where, args := ` AND a.head_id > a.genesis_id`, []any(nil)
	if len(only) > 0 {
		where, args = listOf(only, func(a id.Agent) string { return string(a) })
		where = ` AND a.uuid IN ` + where
	} else if !all {
		where += ` AND a.status = 'running'`
	}
	out := map[id.Agent]state.Ending{}
	var found string
	var killer sql.NullString
	var death death
	err := each(ctx, r.q, func(rows *sql.Rows) error {
		if err := rows.Scan(&found, &killer); err != nil {
			return err
		}
		uuid, rest, _ := strings.Cut(found, " ")
		born, newest, _ := strings.Cut(rest, " ")
		kind, meta, _ := strings.Cut(newest, " ")
		death.read(killer.String)
		out[id.Agent(uuid)] = state.Ending{Kind: history.Kind(kind), Meta: []byte(meta), Born: born == "born", By: death.by, Reason: death.why}
		return nil
	}, endingsOf(r.d)+where, args...)
	if err == nil {
		err = r.addForeign(ctx, out, only)
	}
	if err != nil {
		return nil, r.fail("read how histories end", err)
	}
	return out, nil
}

// marked is the condition of marks of foreign content, which messages_orders knows.
const marked = ordered + ` AND meta LIKE '%"command":"` + history.ForeignCommand + `"%'`

// addForeign adds the sources of foreign content: of those named, else of all. Most workspaces have none.
func (r reader) addForeign(ctx context.Context, out map[id.Agent]state.Ending, only []id.Agent) error {
	marks, err := r.entriesWhere(ctx, marked)
	if err != nil || len(marks) == 0 {
		return err
	}
	shaping, err := r.entriesWhere(ctx, shaping()+` AND kind IN ('clear', 'rewind') AND meta LIKE '%"actor":%'`)
	if err != nil {
		return err
	}
	rows, err := collect(ctx, r.q, func(rows *sql.Rows) (a history.Ancestor, err error) {
		err = rows.Scan(&a.Agent, &a.Parent, &a.ForkMessage)
		return a, err
	}, `SELECT uuid, coalesce(parent_uuid, ''), coalesce(fork_message_id, 0) FROM agents`)
	if err != nil {
		return err
	}
	all := make(map[id.Agent]history.Ancestor, len(rows))
	for _, row := range rows {
		all[row.Agent] = row
	}
	if len(only) == 0 {
		only = slices.Collect(maps.Keys(all))
	}
	for _, a := range only {
		var line []history.Ancestor
		for row, ok := all[a]; ok && len(line) < len(all); row, ok = all[row.Parent] {
			line = append(line, row)
		}
		sources, err := history.ForeignIn(line, marks, shaping)
		if err != nil {
			return err
		}
		if e := out[a]; len(sources) > 0 {
			e.Foreign = sources
			out[a] = e
		}
	}
	return nil
}

// entriesWhere reads entries of all histories, each agent's by id: in the order of the partial indices, or SQLite would
// read all entries there are.
func (r reader) entriesWhere(ctx context.Context, where string) (map[id.Agent][]history.Entry, error) {
	es, out := entryScan{}, map[id.Agent][]history.Entry{}
	err := each(ctx, r.q, func(rows *sql.Rows) error {
		e, err := es.scan(rows)
		out[e.Agent] = append(out[e.Agent], e)
		return err
	}, `SELECT `+entryColumns+` FROM messages WHERE `+where+` ORDER BY agent_uuid, id`)
	return out, err
}

// death describes who ended an agent, and why: what the meta of a killed entry names.
type death struct {
	meta string
	by   id.Agent
	why  string
}

// read reads the meta of a killed entry. Those who were ended together have the same.
func (d *death) read(meta string) {
	if meta == d.meta {
		return
	}
	*d = death{meta: meta}
	if meta == "" {
		return // it lives
	}
	m, err := history.Entry{Meta: []byte(meta)}.Decode()
	if err != nil {
		return // verify tells of damage
	}
	d.by, d.why = id.Agent(m.By), m.Reason
}

// endingsOf returns the query of endings, with few columns, since each costs the SQLite driver as much as a small look: who,
// whether the last prompt is that of its birth, and kind and meta of what tells how it ended; the
// meta of its death. An agent that has said nothing since its birth has no such entry; where the newest words
// of a user stand, however much followed, messages_words knows. A death is the last entry of a history, unless something
// of it was redacted afterwards; what was before it counts only for those who ended themselves or were over, and is
// looked for only there.
func endingsOf(d Dialect) string {
	newest := func(columns, wanted string) string {
		return `(SELECT ` + columns + ` FROM messages WHERE ` + d.Backwards(`a.uuid`, `0`, `a.head_id`, wanted) + ` LIMIT 1)`
	}
	told := func(nothing string) string { // unless a condition says that there is nothing to look for
		return `a.uuid || CASE WHEN ` + nothing + ` THEN ' - ' ELSE
			CASE WHEN a.parent_uuid IS NOT NULL AND a.created_at = coalesce(` + newest(`created_at`, ` AND kind = 'user'`) + `, 0) THEN ' born ' ELSE ' - ' END ||
			coalesce(` + newest(`kind || ' ' || meta`, ` AND (kind IN (`+quoteKinds(state.Telling)+`) OR kind IN (`+quoteKinds(state.Reasoned)+`) AND meta LIKE '%"reason":%')`) + `, '') END`
	}
	return `SELECT ` + told(`a.head_id = a.genesis_id OR k.meta NOT LIKE '%"by":"' || a.uuid || '"%' AND k.meta NOT LIKE '%"reason":"`+state.Over+`"%'`) + `,
		CASE WHEN a.status = 'dead' THEN coalesce(k.meta, ` + newest(`meta`, ` AND kind = 'killed'`) + `) END
		FROM agents a LEFT JOIN messages k ON k.id = CASE WHEN a.status = 'dead' THEN a.head_id END AND k.kind = 'killed' WHERE true`
}

func quoteKinds(kinds []history.Kind) string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = "'" + string(k) + "'"
	}
	return strings.Join(out, ", ")
}

// KeepReplies implements registry.Replies. The rows of the agents are looked at
// but not locked: a reply that was overtaken meanwhile no longer follows the
// newest entry and so does not count.
func (s *Store) KeepReplies(ctx context.Context, replies []registry.Reply) error {
	batches := batchReplies(replies)
	if len(batches) == 0 {
		return nil
	}
	return s.write(ctx, "keep replies", func(tx Tx) error {
		for _, batch := range batches {
			if err := s.keep(ctx, tx, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// batchReplies cuts replies into what goes into one statement, which names an
// agent once at most, and leaves out those that demand another head than the one
// they follow.
func batchReplies(replies []registry.Reply) [][]registry.Reply {
	var out [][]registry.Reply
	within := map[id.Agent]bool{}
	for _, r := range replies {
		if head, ok := r.Claim.Head(); ok && head != r.After {
			continue
		}
		if len(out) == 0 || len(out[len(out)-1]) == chunk || within[r.Agent] {
			out = append(out, nil)
			clear(within)
		}
		within[r.Agent] = true
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

func (s *core) keep(ctx context.Context, tx Tx, replies []registry.Reply) error {
	const columns = 5
	var shown strings.Builder
	args := make([]any, 0, columns*len(replies))
	for i, r := range replies {
		if i > 0 {
			shown.WriteString(", ")
		}
		n := len(args)
		fmt.Fprintf(&shown, `(CAST($%d AS TEXT), CAST($%d AS BIGINT), CAST($%d AS %s), CAST($%d AS TEXT), CAST($%d AS BIGINT))`,
			n+1, n+2, n+3, s.d.Bytes(), n+4, n+5)
		var holder any
		owner, epoch, held := r.Claim.Holder()
		if held {
			holder = owner
		}
		args = append(args, string(r.Agent), int64(r.After), []byte(r.Text), holder, epoch)
	}
	// The condition is agent.Admit's.
	_, err := tx.ExecContext(ctx, `WITH shown(agent, after, said, owner, epoch) AS (VALUES `+shown.String()+`)
		INSERT INTO replies (agent_uuid, after_id, text, updated_at)
		SELECT agent, after, said, `+s.d.Now()+` FROM shown JOIN agents ON uuid = agent
		WHERE status = 'running' AND head_id = after AND CASE WHEN owner IS NULL
			THEN lease_owner IS NULL OR lease_until <= `+s.d.Now()+`
			ELSE lease_owner = owner AND lease_epoch = epoch END
		ON CONFLICT (agent_uuid) DO UPDATE SET after_id = excluded.after_id, text = excluded.text, updated_at = excluded.updated_at`,
		args...)
	return err
}

// Reply implements registry.Replies.
func (r reader) Reply(ctx context.Context, a id.Agent) (registry.Reply, bool, error) {
	out := registry.Reply{Agent: a}
	var text []byte
	err := r.q.QueryRowContext(ctx, `SELECT after_id, text FROM replies JOIN agents ON uuid = agent_uuid
		WHERE agent_uuid = $1 AND status = 'running' AND head_id = after_id`, string(a)).Scan(&out.After, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return registry.Reply{}, false, nil
	case err != nil:
		return registry.Reply{}, false, r.fail("read reply", err)
	}
	out.Text = string(text)
	return out, true, nil
}

// dropReply leaves nothing of an agent's reply, over or not: it may say what is
// redacted.
func (s *core) dropReply(ctx context.Context, tx Tx, a id.Agent) error {
	if err := s.d.LockTable(ctx, tx, "replies"); err != nil { // one that is being kept must not come back behind this
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM replies WHERE agent_uuid = $1`, string(a))
	return err
}
