package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// workspace is a new one in a file, with agent 0 and its child ada.
func workspace(ctx context.Context) (s *store.Store, remove func()) {
	dir := must(os.MkdirTemp("", "example"))
	s = must(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	zero := must(s.Zero(ctx))
	must(s.Fork(ctx, registry.Fork{Parent: zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: "ada"}}}))
	return s, func() { s.Close(); os.RemoveAll(dir) }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A directory finds agents by what people call them, and lists them parents first.
func ExampleDirectory() {
	ctx := context.Background()
	s, remove := workspace(ctx)
	defer remove()
	var all agent.Directory = s

	ada, ok, err := all.Named(ctx, "ada")
	fmt.Println(ada.Label(), ok, err)
	for _, a := range must(all.Agents(ctx, agent.Filter{})) {
		fmt.Println(a.Label(), a.Status)
	}
	_, err = all.Agent(ctx, id.NewAgent())
	fmt.Println(fault.CodeOf(err))
	// Output:
	// ada true <nil>
	// 0 running
	// ada running
	// NOT_FOUND
}

// A lease is one holder's right to write for an agent. Who takes it from the dead raises
// the epoch: whatever the former holder still writes is refused.
func ExampleLeases() {
	ctx := context.Background()
	s, remove := workspace(ctx)
	defer remove()
	var leases agent.Leases = s
	ada, _, _ := s.Named(ctx, "ada")

	first := must(leases.Acquire(ctx, ada.ID, "host-1", time.Minute)).Lease
	_, err := leases.Acquire(ctx, ada.ID, "host-2", time.Minute)
	fmt.Println(fault.CodeOf(err))

	second := must(leases.Seize(ctx, ada.ID, first, "host-2", time.Minute)) // host-1 is known to be dead
	fmt.Println(second.Owner, second.Epoch-first.Epoch)
	_, err = leases.Renew(ctx, ada.ID, "host-1", first.Epoch, time.Minute)
	fmt.Println(fault.CodeOf(err))
	// Output:
	// LEASED
	// host-2 1
	// FENCED
}
