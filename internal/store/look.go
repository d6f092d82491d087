package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/id"
)

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
