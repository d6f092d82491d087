package sqllog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/runtest"
)

func openTable(t *testing.T, address, runID string) *Writer {
	t.Helper()
	w := testkit.Must(OpenTableWriter(t.Context(), address, runID))(t)
	t.Cleanup(func() { w.Close() })
	return w
}

// Whose connection is lost may lose the run: if another has it, the first never writes
// again.
func TestWhoLostTheRunWritesNoMore(t *testing.T) {
	address := pgtest.URL(t)
	w := openTable(t, address, runtest.LogRunID)
	testkit.Must(w.Append(t.Context(), runtest.LogDraft(0)))(t)
	// Every session of this process but the one that asks, until all are gone:
	// the server ends them some time after it said yes.
	admin, _, err := connectTable(address, "admin")
	testkit.OK(t, err)
	defer admin.Close()
	conn := testkit.Must(admin.db.Conn(t.Context()))(t)
	defer conn.Close()
	for n := 1; n > 0; {
		testkit.OK(t, conn.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`).Scan(&n))
	}
	second := openTable(t, address, runtest.LogRunID)
	for range 3 {
		if _, err := w.Append(t.Context(), runtest.LogDraft(1)); !fault.Is(err, fault.Fenced) {
			t.Errorf("append on a lost connection: %v", err)
		}
	}
	testkit.Must(second.Append(t.Context(), runtest.LogDraft(2)))(t)
	if err := w.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	testkit.Must(second.Append(t.Context(), runtest.LogDraft(3)))(t)
	if got := runtest.ExportLog(t, second); !bytes.Equal(got, runtest.LogLines(runtest.LogDraft(0), runtest.LogDraft(2), runtest.LogDraft(3))) {
		t.Errorf("got %s", got)
	}
}

// Runs share the table and nothing else.
func TestRunsAreApart(t *testing.T) {
	address := pgtest.URL(t)
	var writers []*Writer
	for _, name := range []string{runtest.LogRunID, "other"} {
		w := openTable(t, address, name)
		writers = append(writers, w)
		for n := range 3 {
			d := runtest.LogDraft(n + 1)
			d.RunID = name
			testkit.Must(w.Append(t.Context(), d))(t)
		}
	}
	if _, err := writers[1].Append(t.Context(), runtest.LogDraft(5)); !fault.Is(err, fault.InvalidEvent) {
		t.Error(err)
	}
	for _, w := range writers {
		if w.Count() != 3 || bytes.Count(runtest.ExportLog(t, w), []byte("\n")) != 3 {
			t.Errorf("%d events", w.Count())
		}
	}
	// An empty log of a run takes no other run's events either.
	w := openTable(t, address, "third")
	if _, err := w.Append(t.Context(), runtest.LogDraft(0)); !fault.Is(err, fault.InvalidEvent) {
		t.Error(err)
	}
}

func TestDamagedRows(t *testing.T) {
	address := pgtest.URL(t)
	w := openTable(t, address, runtest.LogRunID)
	testkit.Must(w.Append(t.Context(), runtest.LogDrafts(0, 10)...))(t)
	w.Close()
	l, _, err := connectTable(address, runtest.LogRunID)
	testkit.OK(t, err)
	defer l.Close()
	for _, c := range []struct{ change, word string }{
		{`UPDATE run_events SET line = overlay(line PLACING 'X' FROM 200) WHERE seq = 4`, "line 4"},
		{`DELETE FROM run_events WHERE seq = 4`, "line 4"},
		{`DELETE FROM run_events WHERE seq = 1`, "line 1"},
		{`UPDATE run_events SET seq = CASE seq WHEN 5 THEN 106 WHEN 6 THEN 5 END WHERE seq IN (5, 6)`, "line 5"},
		{`UPDATE run_events SET line = line || '\x0a' WHERE seq = 2`, "line 2"},
		{`UPDATE run_events SET line = '' WHERE seq = 10`, "line 10"},
	} {
		if _, err := l.db.Exec(c.change); err != nil {
			t.Fatal(c.change, err)
		}
		for _, err := range l.Events(t.Context(), 0) {
			if err != nil && (!fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), c.word+" ")) {
				t.Errorf("%s: %v", c.change, err)
			}
		}
		if _, err := OpenTableWriter(t.Context(), address, runtest.LogRunID); !fault.Is(err, fault.EventChainBroken) {
			t.Errorf("%s: %v", c.change, err)
		}
		testkit.Must(l.db.Exec(`TRUNCATE run_events`))(t)
		w := openTable(t, address, runtest.LogRunID)
		testkit.Must(w.Append(t.Context(), runtest.LogDrafts(0, 10)...))(t)
		w.Close()
	}
}

func TestPlacesThatAreNoTable(t *testing.T) {
	address := pgtest.URL(t)
	if _, err := OpenTable(t.Context(), address, runtest.LogRunID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	l, pg, err := connectTable(address, runtest.LogRunID)
	testkit.OK(t, err)
	defer l.Close()
	testkit.Must(l.db.Exec(`CREATE SCHEMA ` + pg.Schema + `; CREATE TABLE ` + pg.Schema + `.theirs (n INT)`))(t)
	if _, err := OpenTableWriter(t.Context(), address, runtest.LogRunID); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	if _, err := OpenTableWriter(t.Context(), address, "a/b"); !fault.Is(err, fault.InvalidID) {
		t.Error(err)
	}
	for _, wrong := range []string{"postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=1", "postgres://%zz"} {
		if _, err := OpenTableWriter(t.Context(), wrong, "r"); fault.Exit(err) != 6 && fault.Exit(err) != 2 {
			t.Error(err)
		}
	}
}

// A writer goes on over lost connections and lost answers, and writes everything once.
func TestAWriterGoesOnOverLostConnections(t *testing.T) {
	address := pgtest.URL(t)
	network := pgtest.Through(t, address)
	w := openTable(t, network.URL, runtest.LogRunID)
	var want []run.Draft
	for i, stumble := range []func(){
		func() {},
		network.Cut,
		func() { network.LoseNext(pgtest.After) },
		func() { network.LoseNext(pgtest.Before) },
		func() { network.LoseNext(pgtest.During) },
		func() { network.Lose(func(n int) (pgtest.Fate, bool) { return pgtest.Fate(1 + n%3), n <= 3 }) },
		func() { network.Lose(nil); network.Cut() },
	} {
		stumble()
		want = append(want, runtest.LogDraft(i))
		if _, err := w.Append(t.Context(), want[i]); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if network.Lost() < 4 {
		t.Errorf("%d commits were lost: the test shows nothing", network.Lost())
	}
	if got := runtest.ExportLog(t, w); !bytes.Equal(got, runtest.LogLines(want...)) {
		t.Errorf("got %s", got)
	}
}

// Who finds that another one wrote meanwhile, and has left, writes no more.
func TestAWriterThatWasOvertakenWritesNoMore(t *testing.T) {
	address := pgtest.URL(t)
	network := pgtest.Through(t, address)
	w := openTable(t, network.URL, runtest.LogRunID)
	testkit.Must(w.Append(t.Context(), runtest.LogDraft(0)))(t)
	network.Down(true)
	var second *Writer
	for second == nil { // until the server has noticed
		var err error
		if second, err = OpenTableWriter(t.Context(), address, runtest.LogRunID); err != nil && !fault.Is(err, fault.Locked) {
			t.Fatal(err)
		}
	}
	testkit.Must(second.Append(t.Context(), runtest.LogDraft(1)))(t)
	testkit.OK(t, second.Close())
	network.Down(false)
	for range 2 {
		if _, err := w.Append(t.Context(), runtest.LogDraft(2)); !fault.Is(err, fault.Fenced) {
			t.Errorf("append after another: %v", err)
		}
	}
}

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

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func freshFile(tb testing.TB) runtest.LogPlace {
	path := filepath.Join(tb.TempDir(), "events.sqlite")
	return runtest.LogPlace{
		RunID:      runtest.LogRunID,
		Open:       func() (run.Log, error) { return OpenFile(tb.Context(), path) },
		OpenWriter: func() (run.Writer, error) { return OpenFileWriter(tb.Context(), path) },
	}
}

// tables are logs in one schema, one after the other: making a schema for each
// would take most of the time.
func tables(t *testing.T) runtest.FreshLog {
	address := pgtest.URL(t)
	l, pg, err := connectTable(address, runtest.LogRunID)
	testkit.OK(t, err)
	testkit.OK(t, makeTable(t.Context(), l.db, pg))
	t.Cleanup(func() { l.Close() })
	return func(tb testing.TB) runtest.LogPlace {
		if _, err := l.db.Exec(`TRUNCATE run_events`); err != nil {
			tb.Fatal(pg.Place, err)
		}
		return runtest.LogPlace{
			RunID:      runtest.LogRunID,
			Open:       func() (run.Log, error) { return OpenTable(tb.Context(), address, runtest.LogRunID) },
			OpenWriter: func() (run.Writer, error) { return OpenTableWriter(tb.Context(), address, runtest.LogRunID) },
		}
	}
}

func TestConformanceSQLite(t *testing.T)   { runtest.RunLogTests(t, freshFile) }
func TestConformancePostgres(t *testing.T) { runtest.RunLogTests(t, tables(t)) }
