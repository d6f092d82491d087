package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	group "sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// TestASnapshotDoesNotChange checks that a write beside a snapshot waits for nothing and is not seen in it.
func TestASnapshotDoesNotChange(t *testing.T) {
	_, s := atWork(t)
	before := -1
	testkit.OK(t, s.View(t.Context(), func(log history.Log) error {
		before = entries(t, log, s)
		said(t, s, "meanwhile")
		if n := entries(t, log, s); n != before {
			t.Errorf("a snapshot saw %d, then %d entries", before, n)
		}
		return nil
	}))
	if n := entries(t, s, s); n != before+1 {
		t.Errorf("%d entries after %d and one more", n, before)
	}
}

// TestReadersAndWriterDoNotWait checks that a write amid rows that its own caller reads waits for nothing, and rows amid
// a write neither.
func TestReadersAndWriterDoNotWait(t *testing.T) {
	d, s := atWork(t)
	said(t, s, "one")
	rows, err := d.readers.QueryContext(t.Context(), `SELECT id FROM messages`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	said(t, s, "amid rows")
	testkit.OK(t, rows.Close())

	d, s = atWork(t)
	tx := testkit.Must(d.Begin(t.Context()))(t)
	before := entries(t, s, s)
	testkit.Must(tx.ExecContext(t.Context(), `DELETE FROM messages`))(t)
	if n := entries(t, s, s); n != before {
		t.Errorf("%d of %d entries amid a transaction that is not committed", n, before)
	}
	testkit.OK(t, tx.Rollback())
	if n := entries(t, s, s); n != before {
		t.Errorf("%d of %d entries after it was taken back", n, before)
	}
}

func TestWhoIsInterruptedHarmsNobody(t *testing.T) {
	d, s := atWork(t)
	before := entries(t, s, s)
	for range 20 {
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			var n int
			done <- d.readers.QueryRowContext(ctx, endless).Scan(&n)
		}()
		said(t, s, "meanwhile")
		end()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		said(t, s, "afterwards")
	}
	if n := entries(t, s, s); n != before+40 {
		t.Errorf("%d entries after %d and 40 more", n, before)
	}
}

// TestManyAtOnce lets many read and write at once; the race detector and the examination at the end judge.
func TestManyAtOnce(t *testing.T) {
	for range 3 {
		_, s := atWork(t)
		const each = 10
		var all group.WaitGroup
		for range 3 {
			all.Go(func() {
				for range each {
					said(t, s, "at once")
				}
			})
			all.Go(func() {
				for last := 0; last < 3*each; {
					n := entries(t, s, s)
					if n < last {
						t.Errorf("%d entries, then %d", last, n)
					}
					last = n
				}
			})
			all.Go(func() {
				for range each {
					if err := s.View(t.Context(), func(log history.Log) error {
						if a, b := entries(t, log, s), entries(t, log, s); a != b {
							t.Errorf("a snapshot of %d and %d entries", a, b)
						}
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
}

// atWork is a workspace that existed before, and is whole when the test ends.
func atWork(t *testing.T) (*dialect, *store.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ramet.db")
	first := testkit.Must(Open(t.Context(), path, Options{Cwd: "/"}))(t)
	testkit.OK(t, first.Close())
	d := &dialect{path: path}
	testkit.OK(t, d.open(t.Context(), file{begun: true}))
	testkit.OK(t, d.migrate(t.Context(), Options{}, true))
	s := store.New(d.writer, d.readers, d, d.close)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		db := database.OpenSQLite(path, "mode=ro", 1)
		defer db.Close()
		var verdict string
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Error(verdict, err)
		}
	})
	return d, s
}

func said(t *testing.T, s *store.Store, words string) {
	t.Helper()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	testkit.Must(s.Append(t.Context(), zero.ID, agent.Passing(), history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: words}}}))(t)
}

func entries(t *testing.T, log history.Log, s *store.Store) (n int) {
	t.Helper()
	zero := testkit.Must(s.Zero(context.Background()))(t)
	for _, err := range log.QueryRange(t.Context(), history.Range{Agent: zero.ID}, history.Selection{Any: true}) {
		testkit.OK(t, err)
		n++
	}
	return n
}

// endless has its first row never.
const endless = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n`

func TestAStatementEndsWithItsContext(t *testing.T) {
	db := opened(t)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		var n int
		done <- db.QueryRowContext(ctx, endless).Scan(&n)
	}()
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestWhatIsOverIsNotBegun(t *testing.T) {
	c := testkit.Must(opened(t).Conn(t.Context()))(t)
	defer c.Close()
	testkit.OK(t, c.Raw(func(c any) error {
		over, end := context.WithCancel(t.Context())
		end()
		k := c.(*keeper)
		_, query := k.QueryContext(over, endless, nil)
		_, exec := k.ExecContext(over, endless, nil)
		for _, err := range []error{query, exec} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the driver began it: %v", err)
			}
		}
		return nil
	}))
}

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

func fresh(tb testing.TB) *storetest.Workspace {
	path := filepath.Join(tb.TempDir(), "a b%?.db") // a path that must be escaped
	openAt := func(path string) (*store.Store, error) {
		return Open(tb.Context(), path, Options{Cwd: "/where/it/began"})
	}
	return &storetest.Workspace{
		Open:     func() (*store.Store, error) { return openAt(path) },
		OpenFile: openAt,
		Raw: func(tb testing.TB) *sql.DB {
			db := openHandle(path, "_pragma=synchronous(OFF)&_pragma=ignore_check_constraints(1)", 1)
			tb.Cleanup(func() { db.Close() })
			return db
		},
		Loosen: []string{
			`DROP INDEX agents_living_name`, `DROP INDEX agents_zero`,
			`PRAGMA writable_schema = ON`,
			`UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'`,
			`PRAGMA schema_version = 1000`,
			`PRAGMA writable_schema = OFF`,
		},
		Files: []string{path, path + "-wal"},
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, fresh) }

func TestConformanceSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestConformance(t)
}

func TestAFirstStartThatFailsLeavesNothingHalfMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	_, err := Open(t.Context(), path, Options{Cwd: "/folder\xff"})
	if !fault.Is(err, fault.InvalidText) {
		t.Fatalf("a folder that is not UTF-8: %v", err)
	}
	s := testkit.Must(Open(t.Context(), path, Options{Cwd: "/folder"}))(t)
	defer s.Close()
	if report, err := s.Audit(t.Context(), nil); err != nil || report.Agents != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestAWorkspaceOfFormat1(t *testing.T) {
	path := storetest.Format1(t)
	storetest.RunFormat1(t, &storetest.Workspace{Open: func() (*store.Store, error) { return Open(t.Context(), path, Options{}) }})
}
