package sqllog

import (
	"bytes"
	"strings"
	"testing"

	"ramet/internal/base/fault"
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
