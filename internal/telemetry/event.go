package telemetry

import (
	"time"

	"ramet/internal/run"
)

// timeOf is an event's time; of one that has none, the time of the event before.
func timeOf(e run.Event, before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.TS)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return laterTime(time.Unix(0, 0).UTC(), before)
	}
	return t.UTC().Truncate(time.Microsecond)
}
