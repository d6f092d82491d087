package app

import (
	"context"
	"time"

	"ramet/internal/operation/session"
	"ramet/internal/store/postgres"
	"ramet/internal/telemetry"
	records "ramet/internal/telemetry/store"
)

// telemetrySize measures the records of a workspace.
func telemetrySize(ctx context.Context, ws *session.Workspace) (n, bytes int64, since time.Time, there bool, err error) {
	var size records.Size
	if postgres.IsURL(ws.Place.DB) {
		size, there, err = records.MeasureServer(ctx, ws.Place.DB)
	} else {
		size, there, err = records.MeasureFile(ctx, telemetryFile(ws))
	}
	return size.Records, size.Bytes, size.Oldest, there, err
}

// letGoEvery is the interval at which a server looks for records that are too old.
const letGoEvery = 6 * time.Hour

// letGo takes away records of telemetry that are older than the user wants to keep them,
// until ctx ends.
func letGo(ctx context.Context, ws *session.Workspace, kept telemetry.Store, warn func(string)) {
	days := ws.Config.Number("telemetry_days")
	s, ours := kept.(*records.Store)
	if days == 0 || !ours {
		return
	}
	tick := time.NewTicker(letGoEvery)
	defer tick.Stop()
	for {
		if _, err := s.Prune(ctx, time.Now().AddDate(0, 0, -days)); err != nil && ctx.Err() == nil {
			warn("old records of telemetry stay: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
