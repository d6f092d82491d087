package bench

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/postgres"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// engine makes workspaces in one kind of store, and bare handles to them.
type engine struct {
	name  string
	place func(b *testing.B) string
	open  func(ctx context.Context, place string) (*store.Store, error)
	bare  func(b *testing.B, place string) *sql.DB
}

var engines = []engine{
	{"SQLite", fresh, func(ctx context.Context, place string) (*store.Store, error) {
		return sqlite.Open(ctx, place, sqlite.Options{Cwd: "/home/user/project"})
	}, bareSQLite},
	{"PostgreSQL", func(b *testing.B) string { return pgtest.URL(b) }, func(ctx context.Context, place string) (*store.Store, error) {
		return postgres.Open(ctx, place, postgres.Options{Cwd: "/home/user/project"})
	}, barePostgres},
}

// onBoth runs a benchmark on each engine.
func onBoth(b *testing.B, f func(b *testing.B, e engine)) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) { f(b, e) })
	}
}

// make opens a new workspace.
func (e engine) make(b *testing.B) (*store.Store, string) {
	b.Helper()
	place := e.place(b)
	return e.reopen(b, place), place
}

func (e engine) reopen(b *testing.B, place string) *store.Store {
	b.Helper()
	s := must[*store.Store](b)(e.open(b.Context(), place))
	b.Cleanup(func() { s.Close() })
	return s
}

// bareSQLite is the driver with the settings that our store uses; its log is emptied when SQLite thinks fit.
func bareSQLite(b *testing.B, path string) *sql.DB {
	b.Helper()
	db := must[*sql.DB](b)(sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate"+
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"))
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	return db
}

func barePostgres(b *testing.B, address string) *sql.DB {
	b.Helper()
	u := must[*url.URL](b)(url.Parse(address))
	q := u.Query()
	schema := q.Get("schema")
	q.Del("schema")
	u.RawQuery = q.Encode()
	config := must[*pgx.ConnConfig](b)(pgx.ParseConfig(u.String()))
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	return db
}

// bareCommit is one commit of a row by the bare driver: beside a workspace of PostgreSQL, in a file of its own,
// which nobody else locks, for SQLite.
func (e engine) bareCommit(b *testing.B, place string) func() {
	b.Helper()
	if e.name == "SQLite" {
		place = fresh(b)
	}
	bare := e.bare(b, place)
	_, err := bare.ExecContext(b.Context(), `CREATE TABLE one_row (id BIGINT PRIMARY KEY, content TEXT NOT NULL)`)
	check(b, err)
	insert := must[*sql.Stmt](b)(bare.PrepareContext(b.Context(), `INSERT INTO one_row (id, content) VALUES ($1, $2)`))
	b.Cleanup(func() { insert.Close() })
	n := 0
	return func() {
		n++
		testkit.Must(insert.ExecContext(b.Context(), n, line(n)))(b)
	}
}

// line is a message as agents write them: a few words, a path, some code.
func line(n int) string {
	return fmt.Sprintf("Step %d: internal/store/log.go:%d returns the rows in order of id, so the test in log_test.go "+
		"compares ids, not times; I ran it %d times and it stays green. Next I look at %s.", n, n%200, n%7, strings.Repeat("x", n%60))
}

var speakers = []history.Kind{history.User, history.Assistant, history.ToolResult, history.Assistant}

func drafts(b *testing.B, from, n int) []history.Draft {
	b.Helper()
	out := make([]history.Draft, n)
	for i := range out {
		out[i] = must[history.Draft](b)(history.Say(speakers[(from+i)%len(speakers)], line(from+i)))
	}
	return out
}

// fill appends n messages, thousands at a time.
func fill(b *testing.B, s *store.Store, a id.Agent, n int) {
	b.Helper()
	const batch = 5000
	for from := 0; from < n; from += batch {
		if _, err := s.Append(b.Context(), a, agent.Passing(), drafts(b, from, min(batch, n-from))...); err != nil {
			b.Fatal(err)
		}
	}
}

// fork makes n children of one parent, hundreds at a time; name gives each a
// name, or none.
func fork(b *testing.B, s *store.Store, parent id.Agent, n int, name func(int) string) []agent.Agent {
	b.Helper()
	const batch = 500
	var out []agent.Agent
	for from := 0; from < n; from += batch {
		f := registry.Fork{Parent: parent, Claim: agent.Passing()}
		for i := from; i < min(n, from+batch); i++ {
			f.Children = append(f.Children, registry.Child{ID: id.NewAgent(), Name: name(i)})
		}
		out = append(out, must[[]agent.Agent](b)(s.Fork(b.Context(), f))...)
	}
	return out
}

func nameless(int) string { return "" }

// child makes one agent below agent 0.
func child(b *testing.B, s *store.Store) id.Agent {
	b.Helper()
	zero := must[agent.Agent](b)(s.Zero(b.Context()))
	return fork(b, s, zero.ID, 1, nameless)[0].ID
}

// settle brings everything into the database file, and its size.
func settle(b *testing.B, path string) int64 {
	b.Helper()
	db := bareSQLite(b, path)
	defer db.Close()
	var busy, logged, moved int
	check(b, db.QueryRowContext(b.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved))
	if busy != 0 {
		b.Fatal("the log could not be moved into the database")
	}
	info := must[os.FileInfo](b)(os.Stat(path))
	return info.Size()
}
