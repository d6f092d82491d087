package sqllog

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/pgtest"
	"ramet/internal/run"
	"ramet/internal/run/logtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func freshFile(tb testing.TB) logtest.Place {
	path := filepath.Join(tb.TempDir(), "events.sqlite")
	return logtest.Place{
		RunID:      logtest.RunID,
		Open:       func() (run.Log, error) { return OpenFile(tb.Context(), path) },
		OpenWriter: func() (run.Writer, error) { return OpenFileWriter(tb.Context(), path) },
	}
}

// tables are logs in one schema, one after the other: making a schema for each
// would take most of the time.
func tables(t *testing.T) logtest.Fresh {
	address := pgtest.URL(t)
	l, pg, err := connect(address, logtest.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeTable(t.Context(), l.db, pg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func(tb testing.TB) logtest.Place {
		if _, err := l.db.Exec(`TRUNCATE run_events`); err != nil {
			tb.Fatal(pg.Place, err)
		}
		return logtest.Place{
			RunID:      logtest.RunID,
			Open:       func() (run.Log, error) { return OpenTable(tb.Context(), address, logtest.RunID) },
			OpenWriter: func() (run.Writer, error) { return OpenTableWriter(tb.Context(), address, logtest.RunID) },
		}
	}
}

func TestConformanceSQLite(t *testing.T)   { logtest.Run(t, freshFile) }
func TestConformancePostgres(t *testing.T) { logtest.Run(t, tables(t)) }
