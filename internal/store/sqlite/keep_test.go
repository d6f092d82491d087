package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

func opened(t *testing.T) *sql.DB {
	t.Helper()
	db := openHandle(filepath.Join(t.TempDir(), "kept.db"), "", 1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	run(t, db, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	for n := range 5 {
		run(t, db, `INSERT INTO numbers VALUES ($1)`, n)
	}
	return db
}

func run(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	testkit.Must(db.Exec(query, args...))(t)
}

const above = `SELECT n FROM numbers WHERE n > $1 ORDER BY n`

func TestAKeptStatementIsUsedWithinItself(t *testing.T) {
	tx := testkit.Must(opened(t).Begin())(t)
	defer tx.Rollback()
	for range 3 { // first use, kept, kept
		var seen string
		outer := testkit.Must(tx.Query(above, 1))(t)
		for outer.Next() {
			var n, next int
			testkit.OK(t, outer.Scan(&n))
			err := tx.QueryRow(above, n).Scan(&next)
			seen += fmt.Sprint(n, next, err == sql.ErrNoRows, " ")
		}
		testkit.OK(t, outer.Close())
		if want := "2 3 false 3 4 false 4 0 true "; seen != want {
			t.Errorf("read %q, want %q", seen, want)
		}
	}
}

func TestAKeptStatementSurvivesItsFailuresAndOthersChanges(t *testing.T) {
	db := opened(t)
	const insert = `INSERT INTO numbers VALUES ($1)`
	for range 3 {
		if _, err := db.Exec(insert, 1); err == nil {
			t.Fatal("the same number twice")
		}
	}
	run(t, db, insert, 100)
	run(t, db, `ALTER TABLE numbers ADD COLUMN name TEXT`)
	if _, err := db.Exec(insert, 101); err == nil {
		t.Error("one value for two columns")
	}
	run(t, db, `INSERT INTO numbers VALUES ($1, $2)`, 101, "x")
	var n int
	if err := db.QueryRow(above, 100).Scan(&n); err != nil || n != 101 {
		t.Error(n, err)
	}
}

func TestMoreStatementsThanAreKept(t *testing.T) {
	db := opened(t)
	for i := range 3 * maxKept {
		for range 3 {
			var n int
			if err := db.QueryRow(fmt.Sprintf(`SELECT %d + $1`, i), 1).Scan(&n); err != nil || n != i+1 {
				t.Fatal(i, n, err)
			}
		}
	}
}
