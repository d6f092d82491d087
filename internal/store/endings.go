package store

import (
	"context"
	"database/sql"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
)

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
	if err != nil {
		return nil, r.fail("read how histories end", err)
	}
	return out, nil
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

// The queries give few columns, since each costs the SQLite driver as much as a small look: who,
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
