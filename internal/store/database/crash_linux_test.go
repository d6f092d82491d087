package database_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// After a crash a server gives numbers again that it had given to transactions which were
// lost. That such a number is committed says nothing of the first who had it.
func TestANumberThatWasGivenTwiceIsNotBelieved(t *testing.T) {
	server := testkit.Must(pgtest.Start(t.Context(), nil))(t)
	defer server.Stop()
	direct := testkit.Must(database.ParsePostgres(server.URL() + "&schema=public"))(t)
	conn := await(t, direct.Config)
	testkit.Must(conn.Exec(t.Context(), `CREATE TABLE numbers (n INT)`))(t)
	proxy := pgtest.Through(t, server.URL()+"&schema=public")
	pg := testkit.Must(database.ParsePostgres(proxy.URL))(t)
	db := pg.Open(2)
	defer db.Close()
	tx := testkit.Must(db.Begin())(t)
	var number string
	testkit.OK(t, tx.QueryRow(`SELECT pg_current_xact_id()::text`).Scan(&number))
	testkit.Must(tx.Exec(`INSERT INTO numbers VALUES (1)`))(t)
	proxy.LoseAndFall(pgtest.Before)
	committed := make(chan error, 1)
	testkit.OK(t, syscall.Kill(int(conn.PgConn().PID()), syscall.SIGKILL))
	go func() { committed <- tx.Commit() }()
	again := await(t, direct.Config)
	defer func() { again.Close(context.Background()) }()
	for n := 0; n < 100; n++ {
		if _, err := again.Exec(t.Context(), `INSERT INTO numbers VALUES (2)`); err != nil {
			again, n = await(t, direct.Config), 0 // the crash was not noticed yet
		}
	}
	var status string
	testkit.OK(t, again.QueryRow(t.Context(), `SELECT pg_xact_status(`+"'"+number+"'"+`::xid8)`).Scan(&status))
	t.Logf("the number of what was lost is %s now", status)
	proxy.Down(false)
	err := <-committed
	var n int
	testkit.OK(t, again.QueryRow(t.Context(), `SELECT count(*) FROM numbers WHERE n = 1`).Scan(&n))
	if n != 0 || err == nil {
		t.Errorf("it happened %d times, and the answer is %v", n, err)
	}
	if strings.HasPrefix(status, "committed") && !strings.Contains(err.Error(), "crashed") {
		t.Error(err)
	}
}

// await connects as soon as somebody answers.
func await(t *testing.T, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	var conn *pgx.Conn
	testkit.WaitUntil(t, "the server answers", func() (answers bool) {
		var err error
		if conn, err = pgx.ConnectConfig(t.Context(), config); err == nil {
			err = conn.Ping(t.Context())
		}
		return err == nil
	})
	return conn
}
