package database_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ramet/internal/store/database"
	"ramet/internal/testkit"
)

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
