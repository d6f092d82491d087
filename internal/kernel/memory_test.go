package kernel

import (
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// A turn ends with an entry that is no message: what it cost. Children that were
// forked behind it, and have said nothing yet, share what they remember all the same.
func TestForksBehindATurnShareTheirMemory(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	parent := registry.Child{ID: id.NewAgent()}
	testkit.Must(b.store.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(), Children: []registry.Child{parent}}))(t)
	b.start()
	testkit.Must(b.exec(parent.ID, "begin"))(t)
	born := testkit.Must(b.store.Fork(t.Context(), registry.Fork{Parent: parent.ID, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.NewAgent()}, {ID: id.NewAgent()}}}))(t)
	first, second := newProcess(b.kernel, born[0].ID, nil), newProcess(b.kernel, born[1].ID, nil)
	testkit.OK(t, first.recall(t.Context(), born[0]))
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

// A parent that goes on between two forks is not read anew for the second: what came
// since is added to what is remembered, whatever that is.
func TestLaterForksShareTheirMemoryToo(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	b.start()
	fork := func() agent.Agent {
		t.Helper()
		born := testkit.Must(b.store.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}))(t)
		return born[0]
	}
	append := func(drafts ...history.Draft) {
		t.Helper()
		testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), drafts...))(t)
	}
	say := func(text string) history.Draft {
		d := testkit.Must(history.Say(history.User, text))(t)
		return d
	}
	for _, step := range []struct {
		name  string
		write []history.Draft
		known bool
	}{
		{"first", []history.Draft{say("one")}, false},
		{"only a fork in between", nil, true},
		{"a message in between", []history.Draft{say("two")}, true},
		{"a clear in between", []history.Draft{history.NewClear(), say("three")}, true},
		{"and a fork", nil, true},
	} {
		append(step.write...)
		child := fork()
		talk, err := b.kernel.inherited(t.Context(), child)
		if err != nil || (talk != nil) != step.known {
			t.Errorf("%s: %v %v", step.name, talk, err)
		}
		testkit.Must(b.exec(child.ID, "go on"))(t)
		b.sameAsReplay(child.ID)
	}
}
