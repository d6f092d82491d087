package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var steps = []string{`CREATE TABLE a (x INT)`, `CREATE TABLE b (y INT); INSERT INTO b VALUES (1)`}

func TestAFileHasAVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	old := database.File{Path: path, ID: 0x61626364, What: "one of ours", Steps: steps[:1]}
	db := database.OpenSQLite(path, "_txlock=immediate", 4)
	defer db.Close()
	if v, err := old.Version(t.Context(), db); v != 0 || err != nil {
		t.Fatal(v, err)
	}
	testkit.OK(t, old.Migrate(t.Context(), db, nil))
	young := old
	young.Steps = steps
	// What belongs to the tables fails: nothing is made.
	refused := errors.New("refused")
	if err := young.Migrate(t.Context(), db, func(*sql.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if v, err := young.Peek(t.Context()); v != 1 || err != nil {
		t.Fatal(v, err)
	}
	// Several at once bring it up to date once.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := young.Migrate(t.Context(), db, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var rows int
	if err := db.QueryRow(`SELECT count(*) FROM b`).Scan(&rows); err != nil || rows != 1 {
		t.Error(rows, err)
	}
	if err := old.Migrate(t.Context(), db, nil); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
	other := young
	other.ID++
	if _, err := other.Peek(t.Context()); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
}

func server(t *testing.T) (database.Postgres, *sql.DB) {
	pg := testkit.Must(database.ParsePostgres(pgtest.URL(t)))(t)
	db := stdlib.OpenDB(*pg.Config)
	t.Cleanup(func() { db.Close() })
	return pg, db
}

func TestTablesHaveAVersion(t *testing.T) {
	pg, db := server(t)
	old := database.Tables{Place: pg.Place, Schema: pg.Schema, Marker: "marker", Beside: []string{"known", "more"}, Steps: steps[:1]}
	testkit.OK(t, old.Migrate(t.Context(), db, nil))
	young := old
	young.Steps = steps
	refused := errors.New("refused")
	if err := young.Migrate(t.Context(), db, func(*sql.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if v, err := young.Version(t.Context(), db); v != 1 || err != nil {
		t.Fatal(v, err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := young.Migrate(t.Context(), db, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var rows int
	if err := db.QueryRow(`SELECT count(*) FROM b`).Scan(&rows); err != nil || rows != 1 {
		t.Error(rows, err)
	}
	if err := old.Migrate(t.Context(), db, nil); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
	young.Marker = "another"
	if _, err := young.Version(t.Context(), db); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	young.Beside = []string{"marker", "a", "b"}
	if v, err := young.Version(t.Context(), db); v != 0 || err != nil {
		t.Error(v, err)
	}
}

// Two who lock the same rows in another order both come through.
func TestTheVictimOfADeadlockIsRepeated(t *testing.T) {
	pg, db := server(t)
	testkit.Must(db.Exec(`CREATE SCHEMA ` + pgx.Identifier{pg.Schema}.Sanitize() + `; CREATE TABLE rows (id INT PRIMARY KEY, n INT); INSERT INTO rows VALUES (1, 0), (2, 0)`))(t)
	var both, all sync.WaitGroup
	both.Add(2)
	for first := 1; first <= 2; first++ {
		var met sync.Once
		all.Go(func() {
			err := database.Repeat(t.Context(), func() error {
				tx, err := db.Begin()
				if err != nil {
					return err
				}
				defer tx.Rollback()
				for i, id := range []int{first, 3 - first} {
					if i == 1 {
						met.Do(func() { both.Done(); both.Wait() })
					}
					if _, err := tx.Exec(`UPDATE rows SET n = n + 1 WHERE id = $1`, id); err != nil {
						return err
					}
				}
				return tx.Commit()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var n int
	if err := db.QueryRow(`SELECT sum(n) FROM rows`).Scan(&n); err != nil || n != 4 {
		t.Error(n, err)
	}
}

func TestPersistence(t *testing.T) {
	p := database.Patience{Place: "the server", Tries: 3}
	lost := &netError{}
	for name, c := range map[string]struct {
		errs  []error // one after the other
		tries int
		code  fault.Code
	}{
		"done":              {[]error{nil}, 1, ""},
		"lost and done":     {[]error{lost, lost, nil}, 3, ""},
		"lost for good":     {[]error{lost, lost, lost, nil}, 3, fault.StorageUnreachable},
		"a victim, done":    {[]error{&pgconn.PgError{Code: "40P01"}, nil}, 2, ""},
		"somebody's in it":  {[]error{&pgconn.PgError{Code: "55P03"}, nil}, 2, ""},
		"refused":           {[]error{&pgconn.PgError{Code: "23505"}, nil}, 1, fault.Conflict},
		"refused otherwise": {[]error{&pgconn.PgError{Code: "42P01"}, nil}, 1, fault.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			err := p.Persist(t.Context(), func(context.Context) error {
				tries++
				return c.errs[tries-1]
			})
			if tries != c.tries || (err == nil) != (c.code == "") || err != nil && fault.CodeOf(err) != c.code {
				t.Error(tries, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Persist(ctx, func(context.Context) error { cancel(); return lost })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// netError is the error of a network.
type netError struct{}

func (*netError) Error() string   { return "no route" }
func (*netError) Timeout() bool   { return false }
func (*netError) Temporary() bool { return false }

func TestAListenerConnectsAgain(t *testing.T) {
	pg, db := server(t)
	channel := database.Channel("test", pg.Schema)
	ready, heard := make(chan struct{}, 10), make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- database.Listen(ctx, pg.Config, true, func() { ready <- struct{}{} }, func(_, said string) { heard <- said }, channel)
	}()
	for _, word := range []string{"one", "two"} {
		<-ready
		testkit.Must(db.Exec(`SELECT pg_notify($1, $2)`, channel, word))(t)
		if said := <-heard; said != word {
			t.Errorf("heard %q, want %q", said, word)
		}
		testkit.Must(db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1`, `LISTEN `+pgx.Identifier{channel}.Sanitize()))(t)
	}
	<-ready
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Who never connected is told why, if it wants to know.
	nowhere := pg.Config.Copy()
	nowhere.Host, nowhere.Port, nowhere.Fallbacks = "127.0.0.1", 1, nil
	if err := database.Listen(t.Context(), nowhere, true, func() {}, nil, channel); err == nil {
		t.Error("nobody is there")
	}
}

// A file whose first writer lost its power in the middle of a transaction is opened: the
// journal is rolled back.
func TestAHalfWrittenFileIsPeekedAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := database.OpenSQLite(path, "_txlock=immediate", 1)
	defer db.Close()
	testkit.Must(db.Exec(`PRAGMA application_id = 77; CREATE TABLE t (x); PRAGMA cache_size = 2; PRAGMA cache_spill = 1`))(t)
	tx := testkit.Must(db.Begin())(t)
	defer tx.Rollback()
	// More than the cache holds, so that some of it is in the file before the commit.
	testkit.Must(tx.Exec(`INSERT INTO t SELECT zeroblob(3000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i FROM n)`))(t)
	image := filepath.Join(t.TempDir(), "a.db")
	for _, end := range []string{"", "-journal"} {
		data, err := os.ReadFile(path + end)
		if err != nil || len(data) == 0 {
			t.Fatalf("%d bytes, %v: the test shows nothing", len(data), err)
		}
		testkit.OK(t, os.WriteFile(image+end, data, 0o600))
	}
	f := database.File{Path: image, ID: 77, What: "ours", Steps: []string{""}}
	if version, err := f.Peek(t.Context()); err != nil || version != 0 {
		t.Errorf("%d %v", version, err)
	}
	if _, err := os.Stat(image + "-journal"); err == nil {
		t.Error("it was not rolled back")
	}
}

// Connections have no locks of their own; what they share has: files, their locks, their memory.
// Many handles on few files, opened and closed while others write, and queries that are given up in the
// middle by a clock that knows of no connection.
func TestManyHandlesOnFewFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(i int) string { return filepath.Join(dir, fmt.Sprint(i, ".db")) }
	const files, hands, rounds = 3, 8, 6
	for i := range files {
		db := database.OpenSQLite(path(i), "_pragma=journal_mode(WAL)", 1)
		testkit.Must(db.Exec("CREATE TABLE said (who INTEGER, round INTEGER, words TEXT, PRIMARY KEY (who, round))"))(t)
		db.Close()
	}
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for round := range rounds {
				db := database.OpenSQLite(path((hand+round)%files), "_txlock=immediate", 3)
				if _, err := db.Exec("INSERT INTO said VALUES ($1, $2, printf('%.*c', 5000, 'x'))", hand, round); err != nil {
					t.Error(err)
				}
				var readers sync.WaitGroup
				for range 2 {
					readers.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond) // the query would never end
						defer cancel()
						var n int
						err := db.QueryRowContext(ctx, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 1000000000000) SELECT sum(n) + (SELECT count(*) FROM said) FROM c").Scan(&n)
						if err == nil || ctx.Err() == nil {
							t.Errorf("a query that is given up: %d, %v", n, err)
						}
					})
				}
				readers.Wait()
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	said := 0
	for i := range files {
		db := database.OpenSQLite(path(i), "", 1)
		var n int
		var verdict string
		if err := db.QueryRow("SELECT count(*) FROM said WHERE length(words) = 5000").Scan(&n); err != nil {
			t.Error(err)
		}
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Error(verdict, err)
		}
		said += n
		db.Close()
	}
	if said != hands*rounds {
		t.Errorf("%d rows of %d", said, hands*rounds)
	}
}
