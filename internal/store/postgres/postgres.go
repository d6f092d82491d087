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
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ramet/internal/base/fault"
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

type dialect struct {
	db     *sql.DB
	config *pgx.ConnConfig
	schema string
	place  string // for people; never a password
	export func(ctx context.Context, path string, from *sql.Tx) error
}

func (d *dialect) Begin(ctx context.Context) (store.Transaction, error) {
	return database.Begin(ctx, d.db)
}

func (d *dialect) ForUpdate() string { return ` FOR UPDATE` }

func (d *dialect) Now() string { return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint` }

// NextMessages implements store.Dialect: other transactions may draw numbers in between; only the order
// counts.
func (d *dialect) NextMessages(ctx context.Context, tx store.Tx, n int) ([]id.Message, error) {
	rows, err := tx.QueryContext(ctx, `SELECT nextval('message_ids') FROM generate_series(1, $1)`, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]id.Message, 0, n)
	for rows.Next() {
		var m id.Message
		if err := rows.Scan(&m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	slices.Sort(out)
	return out, rows.Err()
}

// fewIds are drawn with the lock; more would make one more text to plan for each number of them.
const fewIds = 8

// Draws implements store.Dialect: the numbers are drawn for a row that came out of the inner part, and is locked by then: a part that
// locks is carried out by itself, never merged into what is around it.
func (d *dialect) Draws(locks string, n int) string {
	if n > fewIds {
		return ""
	}
	return `SELECT locked.*` + strings.Repeat(`, nextval('message_ids')`, n) + ` FROM (` + locks + `) AS locked`
}

func (d *dialect) NextLetter(ctx context.Context, tx store.Tx) (int64, error) {
	var n int64
	err := tx.QueryRowContext(ctx, `SELECT nextval('letter_ids')`).Scan(&n)
	return n, err
}

// Backwards implements store.Dialect: an index has them in this order. So has the one of all ids, and where the server thinks that much of all
// there is belongs to the agent it walks through what others said since: who knows agents only as a range has one way to put it in order.
func (d *dialect) Backwards(agent, above, upTo, wanted string) string {
	return `(agent_uuid, id) > (` + agent + `, ` + above + `) AND (agent_uuid, id) <= (` + agent + `, ` + upTo + `)` + wanted + ` ORDER BY agent_uuid DESC, id DESC`
}

func (d *dialect) Run(ctx context.Context, tx store.Tx, statements []store.Statement, last bool) error {
	if t, ok := tx.(*database.Tx); ok {
		return t.Run(ctx, statements, last)
	}
	for _, s := range statements { // while the tables are made
		if _, err := tx.ExecContext(ctx, s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *dialect) Bytes() string { return "BYTEA" }

// LockTable implements store.Dialect: every writer has a weaker lock on the table until it
// commits, so this waits for them and holds off new ones. A transaction that had to wait looks at the agents afterwards,
// since a statement's snapshot is taken when it has its locks.
func (d *dialect) LockTable(ctx context.Context, tx store.Tx, table string) error {
	_, err := tx.ExecContext(ctx, `LOCK TABLE `+table+` IN EXCLUSIVE MODE`)
	return err
}

func (d *dialect) Snapshot() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}

func (d *dialect) Fault(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "23505" && e.ConstraintName == "agents_living_name" {
		return fault.New(fault.Conflict, "a living agent has that name already").WithHint("choose another name")
	}
	return database.PostgresFault(d.place, err)
}

// Scrub rewrites the tables, since dead rows stay in their pages otherwise.
// The server's own log and its backups are the administrator's.
func (d *dialect) Scrub(ctx context.Context) error {
	for _, table := range []string{"messages", "blobs", "replies"} {
		if _, err := d.db.ExecContext(ctx, `VACUUM FULL `+table); err != nil {
			return err
		}
	}
	_, err := d.db.ExecContext(ctx, `CHECKPOINT`)
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "42501" {
		return nil // only a superuser may ask for it; the server does it by itself before long
	}
	return err
}

// cursor is a place in the feed. Transactions become visible in another order
// than they were begun, so a place is not a number but a snapshot: what the
// reader has seen, and, while it pages through the difference to a later
// snapshot, how far it has come there.
type cursor struct {
	Seen string         `json:"s"` // pg_snapshot; empty: nothing
	Till string         `json:"t"` // pg_snapshot being paged up to; empty: take a new one
	At   store.Position `json:"p"` // within Seen..Till

	fresh bool // Till was taken for the last page
}

func (d *dialect) Changes(ctx context.Context, after registry.Cursor, limit int) ([]registry.Change, registry.Cursor, error) {
	var c cursor
	if after != "" {
		text, err := base64.RawURLEncoding.DecodeString(string(after))
		if err != nil || json.Unmarshal(text, &c) != nil || c.Seen+c.Till == "" {
			return nil, "", store.BadCursor(after)
		}
	}
	tx, err := d.db.BeginTx(ctx, d.Snapshot())
	if err != nil {
		return nil, "", err
	}
	defer tx.Rollback()
	out, err := c.page(ctx, tx, limit)
	if err == nil && len(out) == 0 && !c.fresh {
		// The difference was read to its end by a full page: what came since
		// is the next one.
		out, err = c.page(ctx, tx, limit)
	}
	if err != nil {
		var e *pgconn.PgError
		if errors.As(err, &e) && strings.HasPrefix(e.Code, "22") {
			return nil, "", store.BadCursor(after)
		}
		return nil, "", err
	}
	next, err := c.text()
	return out, next, err
}

// Latest implements store.Dialect: every transaction in the snapshot has been seen.
func (d *dialect) Latest(ctx context.Context) (registry.Cursor, error) {
	var c cursor
	if err := d.db.QueryRowContext(ctx, `SELECT pg_current_snapshot()::text`).Scan(&c.Seen); err != nil {
		return "", err
	}
	return c.text()
}

func (c cursor) text() (registry.Cursor, error) {
	text, err := json.Marshal(c)
	return registry.Cursor(base64.RawURLEncoding.EncodeToString(text)), err
}

// page reads on within the difference of two snapshots, and moves the cursor.
func (c *cursor) page(ctx context.Context, tx store.Tx, limit int) ([]registry.Change, error) {
	if c.fresh = c.Till == ""; c.fresh {
		if err := tx.QueryRowContext(ctx, `SELECT pg_current_snapshot()::text`).Scan(&c.Till); err != nil {
			return nil, err
		}
	}
	within, args := `AND pg_visible_in_snapshot(txid, $3::pg_snapshot)`, []any{c.Till}
	if c.Seen != "" {
		within += ` AND txid >= pg_snapshot_xmin($4::pg_snapshot) AND NOT pg_visible_in_snapshot(txid, $4::pg_snapshot)`
		args = append(args, c.Seen)
	}
	out, err := store.Page(ctx, tx, &c.At, limit, within, args...)
	if err == nil && len(out) < limit {
		*c = cursor{Seen: c.Till, fresh: c.fresh}
	}
	return out, err
}

func (d *dialect) Backup(ctx context.Context, path string) error {
	tx, err := d.db.BeginTx(ctx, d.Snapshot())
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return d.export(ctx, path, tx)
}

func (d *dialect) Describe(ctx context.Context) (registry.Description, error) {
	out := registry.Description{Engine: "postgres", Place: d.place}
	var now int64
	err := d.db.QueryRowContext(ctx, `SELECT current_setting('server_version'), (SELECT version FROM ramet_schema),
		current_setting('transaction_read_only') = 'on', `+d.Now()).Scan(&out.Version, &out.Schema, &out.ReadOnly, &now)
	out.Now = time.UnixMicro(now).UTC()
	return out, err
}
