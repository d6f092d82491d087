package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// A cleaned store takes our own credentials out of whatever anybody writes.
func ExampleClean() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	opened := must(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	s := store.Clean(opened, func(text string) string { return strings.ReplaceAll(text, "hunter2", "[KEY]") })
	defer s.Close()

	zero := must(s.Zero(ctx)).ID
	entries := must(s.Append(ctx, zero, agent.Passing(), must(history.Say(history.User, "my key is hunter2"))))
	fmt.Println(must(entries[0].Parts())[0].Text)
	report := must(s.Audit(ctx, nil))
	fmt.Println(report.Agents, "agent, all links whole")
	// Output:
	// my key is [KEY]
	// 1 agent, all links whole
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
