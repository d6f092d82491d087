package kernel

import (
	"context"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
)

// A kept agent has an owner between its turns and after them; nobody else can have it, and it can be forked.
func TestAKeptAgentHasAnOwner(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "fine"}]}`)
	own := b.child("own")
	b.start()
	kept := testkit.Must(b.kernel.Keep(t.Context(), own.ID))(t)
	holds := func() bool {
		t.Helper()
		lease, holds, err := agent.FindHolder(t.Context(), b.store, own.ID, b.kernel.Gone)
		testkit.OK(t, err)
		return holds && lease.Owner == b.kernel.Owner
	}
	if !holds() || !kept.Holds(b.named("own")) {
		t.Error("it has no owner")
	}
	if s := b.kernel.States()[own.ID]; s.Word != state.Idle {
		t.Errorf("it is %s", s)
	}
	if _, err := b.exec(own.ID, "work"); err != nil || !holds() {
		t.Errorf("a turn took its owner away: %v", err)
	}
	testkit.Must(b.kernel.Fork(t.Context(), registry.Fork{Parent: own.ID, Children: []registry.Child{{ID: id.NewAgent()}}}, ""))(t)
	if _, err := b.store.Acquire(t.Context(), own.ID, "another", b.kernel.Lease); !fault.Is(err, fault.Leased) {
		t.Error(err)
	}
	kept.Release(t.Context())
	if holds() || kept.Holds(b.named("own")) {
		t.Error("it has an owner still")
	}
	// What another one took meanwhile is not given back for it.
	kept = testkit.Must(b.kernel.Keep(t.Context(), own.ID))(t)
	testkit.Must(b.store.Seize(t.Context(), own.ID, b.named("own").Lease, "another", b.kernel.Lease))(t)
	kept.Release(t.Context())
	if owner := b.named("own").Lease.Owner; owner != "another" {
		t.Errorf("its owner is %q", owner)
	}
}

// unreleasing is a store that releases no lease.
type unreleasing struct {
	Store
	err error
}

func (u unreleasing) Release(context.Context, id.Agent, string, int64) error { return u.err }

// A kernel owes a lease that it could not give back, after a turn and after Keep, and none that it lost.
func TestAKernelOwesWhatItCouldNotRelease(t *testing.T) {
	for _, owes := range []bool{true, false} {
		for _, keep := range []bool{true, false} {
			b := newBench(t, `{"repeat": true, "steps": [{"text": "fine"}]}`)
			b.Options.Store = unreleasing{b.store, errAway}
			if !owes {
				b.Options.Store = unreleasing{b.store, fault.New(fault.Fenced, "it is another's")}
			}
			b.start()
			if keep {
				testkit.Must(b.kernel.Keep(t.Context(), b.zero.ID))(t).Release(t.Context())
			} else {
				testkit.Must(b.exec(b.zero.ID, "work"))(t)
				testkit.WaitUntil(t, "it is idle", func() bool { return b.kernel.lookup(b.zero.ID) == nil })
			}
			if b.kernel.Owes() != owes {
				t.Errorf("kept %t: owes %t, want %t", keep, !owes, owes)
			}
		}
	}
}
