package session

import (
	"slices"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
)

// Whom a list asks by name says what he says when all are asked, and a child of the dead hangs under the living.
func TestAListTellsWhatAllTell(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "silent")
	broken, dead := child(t, w, "0", "broken"), child(t, w, "0", "dead")
	child(t, w, "dead", "orphan")
	if _, err := w.Store.Append(t.Context(), broken.ID, agent.Passing(), history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: "the lights went out"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Agents().Kill(t.Context(), Kill{Agent: dead}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		all, brief bool
		names      []string
	}{
		{false, false, []string{"0", "silent", "broken", "orphan"}},
		{false, true, []string{"0", "silent", "broken", "orphan"}},
		{true, false, []string{"0", "silent", "broken", "dead", "orphan"}},
	} {
		nodes, err := w.Agents().List(t.Context(), want.all, want.brief)
		if err != nil {
			t.Fatal(err)
		}
		among, err := w.Agents().StatesAmong(t.Context(), want.all, nodes)
		if err != nil {
			t.Fatal(err)
		}
		everybody, err := w.Agents().States(t.Context(), want.all)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range nodes {
			names = append(names, n.Label())
			if n.Home == "" && !n.IsZero() {
				t.Errorf("%+v: %s hangs under nobody", want, n.Label())
			}
			if got, all := among.Of(*n.Agent), everybody.Of(*n.Agent); got != all {
				t.Errorf("%+v: %s is %v, among all %v", want, n.Label(), got, all)
			}
			if n.ID == broken.ID && among.Of(*n.Agent).Word != state.Interrupted {
				t.Errorf("%+v: %s is %v", want, n.Label(), among.Of(*n.Agent))
			}
		}
		if !slices.Equal(names, want.names) {
			t.Errorf("%+v: listed %q", want, names)
		}
	}
}
