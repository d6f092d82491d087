package session

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// Whom a list asks by name says what he says when all are asked, and a child of the dead hangs under the living.
func TestAListTellsWhatAllTell(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "silent")
	broken, dead := child(t, w, "0", "broken"), child(t, w, "0", "dead")
	child(t, w, "dead", "orphan")
	testkit.Must(w.Store.Append(t.Context(), broken.ID, agent.Passing(), history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: "the lights went out"}}))(t)
	testkit.Must(w.Agents().Kill(t.Context(), Kill{Agent: dead}))(t)
	for _, want := range []struct {
		all, brief bool
		names      []string
	}{
		{false, false, []string{"0", "silent", "broken", "orphan"}},
		{false, true, []string{"0", "silent", "broken", "orphan"}},
		{true, false, []string{"0", "silent", "broken", "dead", "orphan"}},
	} {
		nodes := testkit.Must(w.Agents().List(t.Context(), want.all, want.brief))(t)
		among := testkit.Must(w.Agents().StatesAmong(t.Context(), want.all, nodes))(t)
		everybody := testkit.Must(w.Agents().States(t.Context(), want.all))(t)
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

// List reads dead agents again only after another agent died, and sorts all agents by creation.
func TestListReadsDeadAgentsAfterADeath(t *testing.T) {
	w := open(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		child(t, w, "0", name)
	}
	reads := 0
	sqlite.Before = func(query string) error {
		if strings.Contains(query, "status = 'dead'") {
			reads++
		}
		return nil
	}
	t.Cleanup(func() { sqlite.Before = nil })
	look := func(want bool) {
		t.Helper()
		reads = 0
		all, err := w.Agents().Everybody(t.Context())
		if err != nil || len(all.All) != 4 || len(all.States) != 4 || all.All[1].Name != "a" || all.All[3].Name != "c" || (reads > 0) != want {
			t.Errorf("%d reads, %+v, %v", reads, all, err)
		}
	}
	look(true)
	look(false)
	testkit.Must(w.Agents().Kill(t.Context(), Kill{Agent: found(t, w, "a")}))(t)
	look(true)
	look(false)
}
