package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/storetest"
)

// A schema of format 1: the tables as the first migration makes them, with the
// rows of the file that ramet wrote then.
func TestAWorkspaceOfFormat1(t *testing.T) {
	address := pgtest.URL(t)
	pg := testkit.Must(database.ParsePostgres(address))(t)
	db := stdlib.OpenDB(*pg.Config)
	defer db.Close()
	steps := testkit.Must(store.Migrations(migrations))(t)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`CREATE SCHEMA ` + pgx.Identifier{pg.Schema}.Sanitize())
	exec(steps[0])
	exec(`CREATE TABLE ramet_schema (version BIGINT NOT NULL)`)
	exec(`INSERT INTO ramet_schema VALUES (1)`)

	file := testkit.Must(sql.Open("sqlite", storetest.Format1(t)))(t)
	defer file.Close()
	for _, table := range []string{"agents", "messages", "mail", "blobs", "blob_refs"} {
		rows := testkit.Must(file.QueryContext(t.Context(), `SELECT * FROM `+table+` ORDER BY 1`))(t)
		columns := testkit.Must(rows.Columns())(t)
		row, into, marks := make([]any, len(columns)), make([]any, len(columns)), make([]string, len(columns))
		for i := range row {
			into[i], marks[i] = &row[i], fmt.Sprintf("$%d", i+1)
		}
		for rows.Next() {
			testkit.OK(t, rows.Scan(into...))
			exec(`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, row...)
		}
		testkit.OK(t, rows.Err())
		rows.Close()
	}
	exec(`UPDATE messages SET content = '' WHERE salt IS NOT NULL AND content IS NULL`) // empty: the driver says NULL for both
	exec(`SELECT setval('message_ids', (SELECT max(id) FROM messages)), setval('letter_ids', (SELECT max(id) FROM mail))`)
	storetest.RunFormat1(t, &storetest.Workspace{Open: func() (*store.Store, error) {
		return Open(context.Background(), address, Options{})
	}})
}
