package ndjson_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/testkit/runtest"
)

// A log is a file of lines, each of which holds the hash of the one before: a byte that
// anybody changes is found by whoever reads.
func ExampleOpen() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "events.ndjson")

	var w run.Writer = must(ndjson.OpenWriter(ctx, path))
	examples := runtest.Examples()
	must(w.Append(ctx, runtest.Draft(1, run.RunCreated, examples[run.RunCreated]), runtest.Draft(2, run.GateRunStarted, `{"gate":"links"}`)))
	_, err := ndjson.OpenWriter(ctx, path)
	fmt.Println(fault.CodeOf(err))
	w.Close()

	show := func() {
		var log run.Log = must(ndjson.Open(ctx, path))
		defer log.Close()
		for e, err := range log.Events(ctx, 0) {
			if err != nil {
				fmt.Println(fault.CodeOf(err))
				return
			}
			fmt.Println(e.Type)
		}
	}
	show()
	text := must(os.ReadFile(path))
	text[len(text)-20] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		panic(err)
	}
	show()
	// Output:
	// LOCKED
	// RUN_CREATED
	// GATE_RUN_STARTED
	// RUN_CREATED
	// EVENT_CHAIN_BROKEN
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
