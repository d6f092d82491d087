package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	group "sync"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
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
