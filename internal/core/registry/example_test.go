package registry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
)

// Each verb is one transaction: afterwards all of it is true, or nothing happened.
func ExampleRegistry() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	s := must(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	defer s.Close()
	zero := must(s.Zero(ctx)).ID

	var verbs registry.Registry = s
	must(verbs.Append(ctx, zero, agent.Passing(), must(history.Say(history.User, "find the leak"))))
	ada := must(verbs.Fork(ctx, registry.Fork{Parent: zero, Children: []registry.Child{{ID: id.NewAgent(), Name: "ada"}}}))[0]
	must(verbs.Send(ctx, registry.Send{From: ada.ID, To: zero, Body: "found it"}))
	letter, ok, err := verbs.Read(ctx, registry.Read{Owner: zero})
	fmt.Println(letter.Body, ok, err)

	dead := must(verbs.Kill(ctx, registry.Kill{Agent: ada.ID, Reason: "done"}))
	fmt.Println(len(dead.Victims), dead.Agent.Status)
	_, err = verbs.Append(ctx, ada.ID, agent.Passing(), must(history.Say(history.User, "too late")))
	fmt.Println(fault.CodeOf(err))
	// Output:
	// found it true <nil>
	// 1 dead
	// DEAD_AGENT
}

// A feed tells every reader everything, in an order that is the same for all; a reader has
// nothing but a cursor.
func ExampleFeed() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	s := must(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	defer s.Close()
	zero := must(s.Zero(ctx)).ID

	var feed registry.Feed = s
	at := must(feed.Latest(ctx))
	must(s.Append(ctx, zero, agent.Passing(), must(history.Say(history.User, "hello"))))
	must(s.Send(ctx, registry.Send{To: zero, Body: "a letter"}))
	changes, next, err := feed.Changes(ctx, at, 10)
	if err != nil {
		panic(err)
	}
	for _, c := range changes {
		switch {
		case c.Entry != nil:
			fmt.Println("entry", c.Entry.Kind)
		case c.Letter != nil:
			fmt.Println("letter", c.Letter.Number)
		}
	}
	changes, _, _ = feed.Changes(ctx, next, 10)
	fmt.Println(len(changes), "behind them")
	// Output:
	// entry user
	// letter 1
	// 0 behind them
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
