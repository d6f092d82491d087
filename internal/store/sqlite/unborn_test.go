package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/store/database"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// A file whose first transaction was broken off when the power failed, with any part of it on
// the disk, is a new one.
func TestAFileThatWasNeverBornIsBegun(t *testing.T) {
	at := filepath.Join(t.TempDir(), "other.db")
	db := database.OpenSQLite(at, "_txlock=immediate", 1)
	defer db.Close()
	tx := testkit.Must(db.Begin())(t)
	defer tx.Rollback()
	// More than the cache holds, so that some of it is in the file before the commit.
	testkit.Must(tx.Exec(`PRAGMA cache_size = 2; CREATE TABLE t (x);
		INSERT INTO t SELECT zeroblob(3000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i FROM n)`))(t)
	journal, err := os.ReadFile(at + "-journal")
	if err != nil || len(journal) < 28 {
		t.Fatalf("%d bytes %v", len(journal), err)
	}
	whole := append([]byte("SQLite format 3\x00\x10\x00"), make([]byte, 4078)...)
	whole[27], whole[31], whole[95] = 1, 9, 1 // it says that it has nine pages
	for name, image := range map[string][]byte{"cut": whole, "torn": whole[:512], "zeros": make([]byte, 4096), "short": whole[:40]} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ramet.db")
			testkit.OK(t, os.WriteFile(path, image, 0o600))
			if s, err := sqlite.Open(t.Context(), path, sqlite.Options{Cwd: "/"}); err == nil {
				s.Close()
				t.Fatal("without its journal it is opened")
			}
			testkit.OK(t, os.WriteFile(path+"-journal", journal, 0o600))
			s := testkit.Must(sqlite.Open(t.Context(), path, sqlite.Options{Cwd: "/"}))(t)
			defer s.Close()
			testkit.Must(s.Audit(t.Context(), nil))(t)
		})
	}
}
