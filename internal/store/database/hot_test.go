package database_test

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/store/database"
	"ramet/internal/testkit"
)

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
