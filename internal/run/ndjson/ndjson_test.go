package ndjson

import (
	"path/filepath"
	"testing"

	"ramet/internal/run"
	"ramet/internal/testkit/runtest"
)

func fresh(tb testing.TB) runtest.LogPlace {
	path := filepath.Join(tb.TempDir(), "events.ndjson")
	return runtest.LogPlace{
		RunID:      runtest.LogRunID,
		Open:       func() (run.Log, error) { return Open(tb.Context(), path) },
		OpenWriter: func() (run.Writer, error) { return OpenWriter(tb.Context(), path) },
	}
}

func TestConformance(t *testing.T) { runtest.RunLogTests(t, fresh) }
