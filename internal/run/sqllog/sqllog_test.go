package sqllog

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/runtest"
)

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
