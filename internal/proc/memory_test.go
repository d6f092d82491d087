package proc

import (
	"testing"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/registry"
)

// A turn ends with an entry that is no message: what it cost. Children that were
// forked behind it, and have said nothing yet, share what they remember all the same.
func TestForksBehindATurnShareTheirMemory(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	parent := registry.Child{ID: id.NewAgent()}
	if _, err := b.store.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(), Children: []registry.Child{parent}}); err != nil {
		t.Fatal(err)
	}
	b.start()
	if _, err := b.exec(parent.ID, "begin"); err != nil {
		t.Fatal(err)
	}
	born, err := b.store.Fork(t.Context(), registry.Fork{Parent: parent.ID, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.NewAgent()}, {ID: id.NewAgent()}}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := newProcess(b.kernel, born[0].ID), newProcess(b.kernel, born[1].ID)
	if err := first.recall(t.Context(), born[0]); err != nil {
		t.Fatal(err)
	}
	known, ok := b.kernel.memory.get(parent.ID, born[1].ForkMessage)
	if !ok || known.Len() != 2 {
		t.Fatal("the second child would read everything again")
	}
	if _, ok := b.kernel.memory.get(parent.ID, born[1].ForkMessage+1); ok {
		t.Error("what came later is not known")
	}
	if err := second.recall(t.Context(), born[1]); err != nil || second.talk.Len() != 2 {
		t.Errorf("%v", err)
	}
	for _, c := range born {
		if _, err := b.exec(c.ID, "go on"); err != nil {
			t.Error(err)
		}
		b.sameAsReplay(c.ID)
	}
}
