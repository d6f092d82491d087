package database_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// stumbling is a handle on a table of numbers, over a network that fails.
func stumbling(t *testing.T, connections int, change ...func(database.Postgres)) (*pgtest.Proxy, *sql.DB, func() int) {
	t.Helper()
	direct, db := server(t)
	testkit.Must(db.Exec(`CREATE SCHEMA ` + pgx.Identifier{direct.Schema}.Sanitize() + `; CREATE TABLE numbers (n INT)`))(t)
	proxy := pgtest.Through(t, address(direct))
	pg := testkit.Must(database.ParsePostgres(proxy.URL))(t)
	for _, f := range change {
		f(pg)
	}
	over := pg.Open(connections)
	t.Cleanup(func() { over.Close() })
	testkit.OK(t, over.PingContext(t.Context()))
	return proxy, over, func() (n int) {
		testkit.OK(t, db.QueryRow(`SELECT count(*) FROM numbers`).Scan(&n))
		return n
	}
}

func address(pg database.Postgres) string {
	text := pg.Config.ConnString()
	if strings.Contains(text, "?") {
		return text + "&schema=" + pg.Schema
	}
	return text + "?schema=" + pg.Schema
}

func add(ctx context.Context, db *sql.DB) error { return addAfter(ctx, db, nil) }

// addAfter writes after something was read.
func addAfter(ctx context.Context, db *sql.DB, read func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if read != nil {
		if err := read(tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO numbers VALUES (1)`); err != nil {
		return err
	}
	return tx.Commit()
}

func TestACommitWhoseAnswerIsLostIsJudged(t *testing.T) {
	proxy, db, count := stumbling(t, 2)
	row := func(tx *sql.Tx) error {
		var n int64
		return tx.QueryRowContext(t.Context(), `SELECT 7`).Scan(&n)
	}
	lost := 0
	for name, read := range map[string]func(*sql.Tx) error{"at once": nil, "after a row": row} {
		for _, fate := range []pgtest.Fate{pgtest.After, pgtest.Before, pgtest.During, pgtest.After, pgtest.During, pgtest.Before} {
			// A session that was used before, and, the connection having been lost, one that was not.
			if err := addAfter(t.Context(), db, read); err != nil {
				t.Fatal(name, err)
			}
			for range 2 {
				before := count()
				proxy.LoseNext(fate)
				err := addAfter(t.Context(), db, read)
				proxy.Lose(nil)
				lost++
				var undone *database.Undone
				happened := count() - before
				switch {
				case proxy.Lost() != lost:
					t.Fatalf("%s: %d commits were lost, not %d: the test shows nothing", name, proxy.Lost(), lost)
				case err == nil && happened == 1 && fate != pgtest.Before:
				case errors.As(err, &undone) && happened == 0 && fate != pgtest.After:
				default:
					t.Errorf("%s, fate %d: %v, and it happened %d times", name, fate, err, happened)
				}
			}
		}
	}
}

func TestWhatWasNotDoneIsDoneAgain(t *testing.T) {
	proxy, db, count := stumbling(t, 2)
	tries := 0
	for i, fate := range []pgtest.Fate{pgtest.Before, pgtest.During, pgtest.After} {
		proxy.LoseNext(fate)
		if err := database.Repeat(t.Context(), func() error { tries++; return add(t.Context(), db) }); err != nil {
			t.Error(err)
		}
		if n := count(); n != i+1 {
			t.Errorf("after %d: %d", i+1, n)
		}
	}
	// A connection that is cut in the middle, and a server that is away for a while.
	cut := false
	err := database.Repeat(t.Context(), func() error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if !cut {
			cut = true
			proxy.DownFor(3)
		}
		if _, err := tx.Exec(`INSERT INTO numbers VALUES (1)`); err != nil {
			return err
		}
		return tx.Commit()
	})
	if n := count(); err != nil || n != 4 {
		t.Error(n, err)
	}
}

// A reading is done again on another connection.
func TestAReadingOutlivesItsConnection(t *testing.T) {
	proxy, db, _ := stumbling(t, 2)
	for range 3 {
		proxy.DownFor(2)
		var n int
		if err := db.QueryRow(`SELECT 1`).Scan(&n); err != nil || n != 1 {
			t.Error(n, err)
		}
	}
}

func TestAServerThatIsAwayForAMomentIsWaitedFor(t *testing.T) {
	direct, _ := server(t)
	proxy := pgtest.Through(t, address(direct))
	proxy.DownFor(2)
	pg := testkit.Must(database.ParsePostgres(proxy.URL))(t)
	db := pg.Open(1)
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil || proxy.Barred() != 2 {
		t.Error(err, proxy.Barred())
	}
}

// Whoever can only be refused is not kept waiting: by a password, a database, a host that is
// none; and the URL may say how long a server is waited for.
func TestWhatDoesNotPassIsNotWaitedFor(t *testing.T) {
	direct, _ := server(t)
	for name, change := range map[string]func(*pgx.ConnConfig){
		"no such database": func(c *pgx.ConnConfig) { c.Database = "there_is_none" },
		"no such user":     func(c *pgx.ConnConfig) { c.User = "there_is_none" },
		"no such host":     func(c *pgx.ConnConfig) { c.LookupFunc = nowhere },
	} {
		pg := direct
		pg.Config = direct.Config.Copy()
		pg.Config.Fallbacks = nil
		if change(pg.Config); name == "no such host" {
			pg.Config.Host = "there.is.none.invalid"
		}
		tries := 0
		dial := pg.Config.DialFunc
		pg.Config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			tries++
			return dial(ctx, network, address)
		}
		db := pg.Open(1)
		err := db.PingContext(t.Context())
		if db.Close(); err == nil || tries > 1 {
			t.Errorf("%s: %d tries: %v", name, tries, err)
		}
	}
}

func nowhere(context.Context, string) ([]string, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "there.is.none.invalid", IsNotFound: true}
}

// patient is a context for what ends by itself: its own end is reached only when something is wrong.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestWhatCannotBeAskedIsUnknown(t *testing.T) {
	proxy, db, count := stumbling(t, 2)
	proxy.LoseAndFall(pgtest.After, func() { database.Hurry(t) })
	ctx := patient(t)
	err := database.Repeat(ctx, func() error { return add(ctx, db) })
	if !fault.Is(err, fault.UnknownOutcome) || !strings.Contains(err.Error(), "pg_xact_status") {
		t.Error(err)
	}
	if ctx.Err() != nil {
		t.Error("it did not give up by itself")
	}
	if n := count(); n != 1 {
		t.Errorf("%d rows: the test shows nothing", n)
	}
}

// A server that takes connections and says nothing is not waited for without end, and who
// waits is told for whom.
func TestASilentServerIsNotWaitedForWithoutEnd(t *testing.T) {
	for name, do := range map[string]func(context.Context, *sql.DB, func()) error{
		"connect": func(ctx context.Context, db *sql.DB, silent func()) error {
			one, err := db.Conn(ctx) // which leaves no idle one
			if err != nil {
				return err
			}
			defer one.Close()
			silent()
			_, err = db.Conn(ctx)
			return err
		},
		"idle": func(ctx context.Context, db *sql.DB, silent func()) error {
			silent()
			return db.PingContext(ctx)
		},
		"statement": func(ctx context.Context, db *sql.DB, silent func()) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			silent()
			_, err = tx.ExecContext(ctx, `INSERT INTO numbers VALUES (1)`)
			return err
		},
		"read": func(ctx context.Context, db *sql.DB, silent func()) error {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
			if err != nil {
				return err
			}
			defer tx.Rollback()
			silent()
			var n int
			return tx.QueryRowContext(ctx, `SELECT count(*) FROM numbers`).Scan(&n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, db, _ := stumbling(t, 2, func(pg database.Postgres) { pg.Config.RuntimeParams["lock_timeout"] = "0" })
			var told atomic.Pointer[string]
			ctx := database.Telling(patient(t), func(s string) { told.Store(&s) })
			err := do(ctx, db, func() {
				proxy.Stall(true)
				database.Hurry(t)
			})
			if err == nil || ctx.Err() != nil {
				t.Errorf("it did not give up by itself: %v", err)
			}
			if err := database.PostgresFault("the server", err); !fault.Is(err, fault.StorageUnreachable) {
				t.Error(err)
			}
			testkit.WaitUntil(t, "the caller is told for whom it waits", func() bool { return told.Load() != nil })
			if s := *told.Load(); !strings.Contains(s, "waiting for PostgreSQL at 127.0.0.1") {
				t.Error(s)
			}
		})
	}
}

// A reading that takes long is not taken for a silent server.
func TestABusyServerIsWaitedFor(t *testing.T) {
	pg, _ := server(t)
	pg.Config.RuntimeParams["lock_timeout"] = "5s" // within which even a busy machine begins with a statement
	db := pg.Open(1)
	defer db.Close()
	conn := testkit.Must(db.Conn(t.Context()))(t)
	defer conn.Close()
	database.Hurry(t) // a server may be silent for 100 ms beyond the lock timeout
	var n int
	if err := conn.QueryRowContext(t.Context(), `SELECT 1 FROM pg_sleep(5.5)`).Scan(&n); err != nil || n != 1 {
		t.Error(n, err)
	}
}

// A prepared statement that comes first in a transaction is within it.
func TestAPreparedStatementIsWithinItsTransaction(t *testing.T) {
	_, db, count := stumbling(t, 2)
	insert := testkit.Must(db.PrepareContext(t.Context(), `INSERT INTO numbers VALUES ($1)`))(t)
	defer insert.Close()
	for i, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx := testkit.Must(db.BeginTx(t.Context(), nil))(t)
		testkit.Must(tx.StmtContext(t.Context(), insert).ExecContext(t.Context(), i))(t)
		if n := count(); n != 0 {
			t.Errorf("%d rows before the end", n)
		}
		testkit.OK(t, end(tx))
		if n := count(); n != i {
			t.Errorf("%d rows, wanted %d", n, i)
		}
	}
}
