// Package postgres keeps a workspace in one schema of a PostgreSQL database,
// shared by several processes and hosts.
//
// A verb locks the rows of the agents it writes for; ids come from a sequence
// after that, so that they ascend along every history. The URL is libpq's,
// with one parameter of ours: schema, by default "ramet".
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

const connections = 8

// Options of Open.
type Options struct {
	Cwd string // folder of agent 0, if it has to be made
	// Export writes a snapshot's rows into a new file, for backups.
	Export func(ctx context.Context, path string, from *sql.Tx) error
}

// IsURL reports whether a --db names a PostgreSQL database.
func IsURL(s string) bool {
	return database.IsPostgres(s)
}

// Open connects to a workspace, and makes its schema if there is none.
func Open(ctx context.Context, address string, o Options) (*store.Store, error) {
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	db := pg.Open(connections)
	d := &dialect{db: db, config: pg.Config, schema: pg.Schema, place: pg.Place, export: o.Export}
	if err := database.Repeat(ctx, func() error { return d.migrate(ctx, o) }); err != nil {
		return nil, errors.Join(d.Fault(err), db.Close())
	}
	return store.New(db, db, d, db.Close), nil
}

// migrate brings the schema up to date and ensures agent 0, in one
// transaction.
func (d *dialect) migrate(ctx context.Context, o Options) error {
	steps, err := store.Migrations(migrations)
	if err != nil {
		return err
	}
	t := database.Tables{Place: d.place, Schema: d.schema, Marker: "ramet_schema", Beside: []string{"run_events"}, Steps: steps}
	return t.Migrate(ctx, d.db, func(tx *sql.Tx) error { return store.Ensure(ctx, tx, d, o.Cwd) })
}

// The bell is LISTEN and NOTIFY. A payload is the reason and then the ids, all
// between single spaces; a transaction's notifications are delivered when it has
// committed. It needs a session of its own: behind a pooler that lends sessions
// for single transactions it stays silent.

// maxRung limits the ids in one payload, which may have 8,000 bytes.
const maxRung = 300

// channelOf returns the name of the channel: the schema's own name may be too long.
func channelOf(schema string) string { return database.Channel("ramet", schema) }

func (d *dialect) Announce(what string, agents ...id.Agent) []store.Statement {
	return []store.Statement{{
		Query: `SELECT pg_notify($1, said) FROM unnest($2::text[]) AS said`,
		Args:  []any{channelOf(d.schema), ringPayloads(what, agents)},
	}}
}

func ringPayloads(what string, agents []id.Agent) []string {
	var out []string
	for len(agents) > 0 {
		n := min(maxRung, len(agents))
		var b strings.Builder
		b.WriteString(what)
		for _, a := range agents[:n] {
			b.WriteString(" " + string(a))
		}
		out, agents = append(out, b.String()), agents[n:]
	}
	return out
}

// parseRings reads a payload. Any client that may connect can notify: what is not ours to
// the last letter is only a call to look.
func parseRings(payload string) []registry.Ring {
	words := strings.Split(payload, " ")
	if what := words[0]; what != registry.RingMail && what != registry.RingKilled && what != registry.RingForked && what != registry.RingStop || len(words) < 2 {
		return []registry.Ring{{}}
	}
	out := make([]registry.Ring, 0, len(words)-1)
	for _, word := range words[1:] {
		a, err := id.ParseAgent(word)
		if err != nil {
			return []registry.Ring{{}}
		}
		out = append(out, registry.Ring{Agent: a, What: words[0]})
	}
	return out
}

// Listen rings whenever it has connected, too: something may have been rung before.
func (d *dialect) Listen(ctx context.Context, ring func(registry.Ring)) error {
	return database.Listen(ctx, d.config, true, func() { ring(registry.Ring{}) }, func(_, payload string) {
		for _, r := range parseRings(payload) {
			ring(r)
		}
	}, channelOf(d.schema))
}
