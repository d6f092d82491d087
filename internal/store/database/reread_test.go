package database_test

import (
	"context"
	"database/sql"
	"testing"

	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// A table, and a question about it whose answer is too long for any network to hold all of it on its way.
const (
	table = `INSERT INTO numbers SELECT generate_series(1, 6000)`
	long  = `SELECT n, repeat('x', 4000) FROM numbers ORDER BY n`
)

// readers are what a reading may be made with.
var readers = map[string]func(t *testing.T, db *sql.DB) (ask func(string) (*sql.Rows, error), end func() error){
	"outside of a transaction": func(t *testing.T, db *sql.DB) (func(string) (*sql.Rows, error), func() error) {
		return func(q string) (*sql.Rows, error) { return db.QueryContext(t.Context(), q) }, func() error { return nil }
	},
	"in a transaction": func(t *testing.T, db *sql.DB) (func(string) (*sql.Rows, error), func() error) {
		tx := testkit.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}))(t)
		t.Cleanup(func() { tx.Rollback() })
		return func(q string) (*sql.Rows, error) { return tx.QueryContext(t.Context(), q) }, tx.Commit
	},
}

// terminate ends all sessions, and returns how many there were.
func terminate(t *testing.T, p *pgtest.Proxy) int {
	t.Helper()
	n := testkit.Must(p.Terminate(t.Context()))(t)
	return n
}

func TestAReadingOutlivesConnectionsThatAreTerminated(t *testing.T) {
	proxy, db, _ := stumbling(t, 1)
	testkit.Must(db.Exec(table))(t)
	for name, reader := range readers {
		ask, end := reader(t, db)
		sum := func(q string, between func(row int)) (rows, total int) {
			t.Helper()
			answer, err := ask(q)
			if err != nil {
				t.Fatal(name, err)
			}
			defer answer.Close()
			for ; answer.Next(); rows++ {
				var n int
				testkit.OK(t, answer.Scan(&n, new(string)))
				total += n
				between(rows)
			}
			if err := answer.Err(); err != nil {
				t.Fatalf("%s, after %d rows: %v", name, rows, err)
			}
			return rows, total
		}
		for _, q := range []string{`SELECT n, '' FROM numbers WHERE n < 3 ORDER BY n`, long} {
			ended := terminate(t, proxy) // between statements
			want := map[bool]int{true: 2, false: 6000}[q[10] == '\'']
			rows, total := sum(q, func(row int) {
				if row == 0 || row == 2000 {
					ended += terminate(t, proxy) // within one
				}
			})
			if ended < min(want, 2) {
				t.Errorf("%s, %s: %d sessions were ended: the test shows nothing", name, q, ended)
			}
			if rows != want || total != want*(want+1)/2 {
				t.Errorf("%s, %s: %d rows, %d in all", name, q, rows, total)
			}
		}
		if err := end(); err != nil {
			t.Error(name, err)
		}
	}
}

// What changed meanwhile is not mixed with what was read before.
func TestAReadingIsOneAnswerOrNone(t *testing.T) {
	proxy, db, _ := stumbling(t, 1)
	direct := testkit.Must(database.ParsePostgres(proxy.URL))(t)
	other := direct.Open(1)
	defer other.Close()
	testkit.Must(other.Exec(table))(t)
	for name, reader := range readers {
		ask, end := reader(t, db)
		answer, err := ask(long)
		if err != nil || !answer.Next() {
			t.Fatal(name, err)
		}
		if terminate(t, proxy) == 0 {
			t.Fatal("no session was ended")
		}
		testkit.OK(t, database.Repeat(t.Context(), func() error { return change(t.Context(), other) }))
		rows := 1
		for answer.Next() {
			rows++
		}
		if err := answer.Err(); !database.Lost(err) || rows == 6000 {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
		answer.Close()
		end() // it gives back the only connection; its error is that of the lost one
	}
}

func change(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `UPDATE numbers SET n = n - 1 WHERE n < 2`); err != nil {
		return err
	}
	return tx.Commit()
}
