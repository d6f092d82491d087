package sqllog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

func openTestFile(t *testing.T, path string) *Writer {
	t.Helper()
	w := testkit.Must(OpenFileWriter(t.Context(), path))(t)
	t.Cleanup(func() { w.Close() })
	return w
}

func TestFilesThatAreNoLog(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(t.Context(), filepath.Join(dir, "none")); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := OpenFileWriter(t.Context(), dir); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	text := filepath.Join(dir, "text")
	testkit.OK(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o644))
	theirs := filepath.Join(dir, "theirs")
	db := database.OpenSQLite(theirs, "", 1)
	testkit.Must(db.Exec(`CREATE TABLE theirs (n INT)`))(t)
	db.Close()
	for _, path := range []string{text, theirs} {
		before, _ := os.ReadFile(path)
		if _, err := OpenFile(t.Context(), path); !fault.Is(err, fault.StorageForeign) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := OpenFileWriter(t.Context(), path); !fault.Is(err, fault.StorageForeign) {
			t.Errorf("%s: %v", path, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, before) {
			t.Errorf("%s was changed", path)
		}
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.sqlite")
	w := openTestFile(t, path)
	testkit.Must(w.Append(t.Context(), runtest.LogDrafts(0, 100)...))(t)
	testkit.Must(w.db.Exec(`UPDATE run_events SET line = CAST(replace(CAST(line AS TEXT), 'section 7 ', 'section 8 ') AS BLOB) WHERE seq = 8`))(t)
	w.Close()
	if _, err := OpenFileWriter(t.Context(), path); !fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), "line 8 ") {
		t.Error(err)
	}
}
