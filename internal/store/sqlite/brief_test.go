package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"ramet/internal/agent"
	"ramet/internal/database"
	"ramet/internal/history"
	"ramet/internal/store"
)

// A verb that reads, writes and is over needs one connection; one that reads while it writes, or is about
// a file that does not exist yet, does what it always did.
func TestABriefVerbHasOneConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	brief := store.Brief(t.Context())
	first, err := Open(brief, path, Options{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	said(t, first, "as ever")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	d := &dialect{path: path}
	if err := d.open(brief, file{begun: true}); err != nil {
		t.Fatal(err)
	}
	if err := d.migrate(brief, Options{}, true); err != nil {
		t.Fatal(err)
	}
	s := store.New(d.writer, d.readers, d, d.close)
	said(t, s, "hello")
	if n := d.writer.Stats().OpenConnections; d.readers != d.writer || n != 1 {
		t.Errorf("%d connections, %v", n, d.readers != d.writer)
	}
	// What a snapshot sees does not change, and it hinders nobody.
	before := -1
	if err := s.View(t.Context(), func(log history.Log) error {
		before = entries(t, log, s)
		said(t, s, "meanwhile")
		if n := entries(t, log, s); n != before {
			t.Errorf("a snapshot saw %d, then %d entries", before, n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n := entries(t, s, s); n != before+1 {
		t.Errorf("%d entries after %d and one more", n, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := database.OpenSQLite(path, "mode=ro", 1)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Error(verdict, err)
	}
}

func said(t *testing.T, s *store.Store, words string) {
	t.Helper()
	zero, err := s.Zero(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), zero.ID, agent.Passing(), history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: words}}}); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, log history.Log, s *store.Store) (n int) {
	t.Helper()
	zero, err := s.Zero(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range log.QueryRange(t.Context(), history.Range{Agent: zero.ID}, history.Selection{Any: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
