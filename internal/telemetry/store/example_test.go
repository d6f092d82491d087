package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/telemetry"
	"ramet/internal/telemetry/store"
)

// Ids are made of what they stand for, so a second delivery is the same record.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	var records telemetry.Store = must(store.OpenFile(ctx, filepath.Join(dir, "telemetry.db")))
	defer records.Close()

	eventID := telemetry.EventID("r1", string(telemetry.Launch), "", "1")
	launch := must(telemetry.ParseNew([]byte(`{"event_id":"` + eventID + `","run_id":"r1","agent_name":"orchestrator","job_type":"launch","start_time":"2026-01-15T14:22:10Z"}`)))
	for range 2 {
		fmt.Println(must(records.Create(ctx, []telemetry.New{launch}))[0].Outcome)
	}
	ended := must(telemetry.ParsePatch([]byte(`{"status":"succeeded","end_time":"2026-01-15T14:22:12Z"}`)))
	r := must(records.Patch(ctx, eventID, ended))
	fmt.Println(r.Status, r.EndTime.Sub(r.StartTime))
	// Output:
	// created
	// duplicate
	// success 2s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
