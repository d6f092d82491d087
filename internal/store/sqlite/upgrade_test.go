package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

// TestTheSecondNameOfALogIsRemoved checks that what an older version left beside a database goes, and nothing else.
func TestTheSecondNameOfALogIsRemoved(t *testing.T) {
	for content, stays := range map[string]bool{
		"": false, "\x37\x7f\x06\x82 pages": false, "\x37\x7f\x06\x83 pages": false, "ramet: a log at rest, no content": false, "\x00\x00\x00\x00 pages": false,
		"SQLite format 3\x00": true, "notes": true,
	} {
		path := filepath.Join(t.TempDir(), "ramet.db")
		openAndClose(t, path)
		testkit.OK(t, os.WriteFile(path+"-spare", []byte(content), 0o600))
		openAndClose(t, path)
		if _, err := os.Lstat(path + "-spare"); (err == nil) != stays {
			t.Errorf("%q stays: %t", content, err == nil)
		}
	}
}

func openAndClose(t *testing.T, path string) {
	t.Helper()
	s := testkit.Must(Open(t.Context(), path, Options{Cwd: "/"}))(t)
	testkit.OK(t, s.Close())
}
