package ndjson

import (
	"path/filepath"
	"testing"

	"ramet/internal/run"
	"ramet/internal/run/logtest"
)

func fresh(tb testing.TB) logtest.Place {
	path := filepath.Join(tb.TempDir(), "events.ndjson")
	return logtest.Place{
		RunID:      logtest.RunID,
		Open:       func() (run.Log, error) { return Open(tb.Context(), path) },
		OpenWriter: func() (run.Writer, error) { return OpenWriter(tb.Context(), path) },
	}
}

func TestConformance(t *testing.T) { logtest.Run(t, fresh) }
