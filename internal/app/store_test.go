package app_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/postgres"
	"ramet/internal/store/sqlite"
)

// place is the database of the script's workspace.
func place(ts *testscript.TestScript) string {
	p, err := config.LocateWorkspace(config.WorkspaceChoice{DB: ts.Getenv("RAMET_DB"), Home: ts.Getenv("DATA"), Dir: ts.MkAbs(".")})
	ts.Check(err)
	return p.DB
}

// database opens the script's database, or a file, behind ramet's back.
func database(ts *testscript.TestScript, path string) *sql.DB {
	driver := "sqlite"
	if postgres.IsURL(path) {
		u, err := url.Parse(path)
		ts.Check(err)
		q := u.Query()
		q.Set("search_path", q.Get("schema"))
		q.Del("schema")
		u.RawQuery = q.Encode()
		driver, path = "pgx", u.String()
	}
	db, err := sql.Open(driver, path)
	ts.Check(err)
	return db
}

// sqlDo changes the database as somebody would who is not ramet.
func sqlDo(ts *testscript.TestScript, _ bool, args []string) {
	path := place(ts)
	if len(args) == 2 {
		path = ts.MkAbs(args[1])
	}
	db := database(ts, path)
	_, err := db.Exec(args[0])
	ts.Check(err)
	ts.Check(db.Close())
}

// lock holds the database until the script ends: all of it on SQLite, agent 0
// on PostgreSQL.
func lock(ts *testscript.TestScript, _ bool, _ []string) {
	db := database(ts, place(ts))
	tx, err := db.Begin()
	ts.Check(err)
	_, err = tx.Exec(`UPDATE agents SET depth = depth WHERE parent_uuid IS NULL`)
	ts.Check(err)
	ts.Defer(func() {
		tx.Rollback()
		db.Close()
	})
}

// plant forks a child of agent 0 with a uuid of our choice: two of the same
// beginning do not come about by chance.
func plant(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	var ws *store.Store
	var err error
	if at := place(ts); postgres.IsURL(at) {
		ws, err = postgres.Open(ctx, at, postgres.Options{})
	} else {
		ws, err = sqlite.Open(ctx, at, sqlite.Options{Cwd: filepath.Dir(at)})
	}
	ts.Check(err)
	zero, err := ws.Zero(ctx)
	ts.Check(err)
	_, err = ws.Fork(ctx, registry.Fork{Parent: zero.ID, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.Agent(args[0]), Name: args[1]}}})
	ts.Check(err)
	ts.Check(ws.Close())
}

// schema makes the schema of the script's workspace, without ramet.
func schema(ts *testscript.TestScript, _ bool, _ []string) {
	u, err := url.Parse(place(ts))
	ts.Check(err)
	sqlDo(ts, false, []string{"CREATE SCHEMA " + u.Query().Get("schema")})
}

// server keeps the host of the script's database and takes user and database
// from another URL.
func server(ts *testscript.TestScript, _ bool, args []string) {
	u, err := url.Parse(ts.Getenv("RAMET_DB"))
	ts.Check(err)
	other, err := url.Parse(args[0])
	ts.Check(err)
	if other.User != nil {
		u.User = other.User
	}
	if other.Path != "" {
		u.Path = other.Path
	}
	ts.Setenv("RAMET_DB", u.String())
}
