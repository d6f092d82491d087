package history_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
)

// A child stores only its own entries; a log knows where its history continues that of
// its parent, and Replay reads both as one.
func ExampleLog() {
	ctx := context.Background()
	dir := done(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	s := done(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	defer s.Close()
	zero := done(s.Zero(ctx)).ID
	say := func(a id.Agent, text string) {
		done(s.Append(ctx, a, agent.Passing(), done(history.Say(history.User, text))))
	}
	say(zero, "before the fork")
	ada := id.NewAgent()
	done(s.Fork(ctx, registry.Fork{Parent: zero, Children: []registry.Child{{ID: ada, Name: "ada"}}}))
	say(zero, "only the parent's")
	say(ada, "only the child's")

	var log history.Log = s
	fmt.Println(len(done(log.Lineage(ctx, ada))), "generations")
	for _, r := range done(history.BuildRanges(ctx, log, ada)) {
		for e, err := range log.QueryRange(ctx, r, history.Selection{}) {
			if err != nil {
				panic(err)
			}
			if e.Kind == history.User {
				fmt.Println(done(e.Parts())[0].Text)
			}
		}
	}
	// Output:
	// 2 generations
	// before the fork
	// only the child's
}

func done[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
