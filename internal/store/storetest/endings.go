package storetest

import (
	"slices"
	"testing"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/registry"
	"ramet/internal/state"
)

// testEndings: the end of an agent's own history, past what tells nothing of a turn, and
// of the dead who ended them.
func testEndings(t *testing.T, w *Workspace) {
	d := open(t, w)
	reasoned := func(k history.Kind, reason string) history.Draft {
		return history.Draft{Kind: k, Meta: history.Meta{Reason: reason}, Parts: []history.Part{{Type: history.Text, Text: "x"}}}
	}
	asked := d.fork(d.zero, "asked")[0].ID
	d.say(asked, "go")
	failed := d.fork(d.zero, "failed")[0].ID
	d.say(failed, "go")
	d.append(failed, reasoned(history.Note, "PROVIDER_DOWN: nobody there"))
	done := d.fork(d.zero, "done")[0].ID
	d.say(done, "go")
	d.append(done, reasoned(history.Note, state.Well), text(history.Note, "tells nothing"))
	born := must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: []registry.Child{{ID: id.NewAgent(), Name: "born", Entries: says("the task")}}}))(t)[0].ID
	empty := d.fork(d.zero, "empty")[0].ID
	gone := d.fork(d.zero, "gone")[0].ID
	d.say(gone, "go")
	must(d.s.Kill(background, registry.Kill{Agent: gone, By: asked, Reason: "no need"}))(t)

	living := must(d.s.Endings(background, false))(t)
	if _, ok := living[gone]; ok || len(living) != 5 {
		t.Errorf("of the living: %v", living)
	}
	if _, ok := living[empty]; ok {
		t.Error("of one who said nothing there is something to tell")
	}
	all := must(d.s.Endings(background, true))(t)
	for _, c := range []struct {
		who  id.Agent
		kind history.Kind
		born bool
		by   id.Agent
		why  string
	}{
		{asked, history.User, false, "", ""}, {failed, history.Note, false, "", ""}, {done, history.Note, false, "", ""},
		{born, history.User, true, "", ""}, {empty, "", false, "", ""}, {gone, history.User, false, asked, "no need"},
	} {
		got, ok := all[c.who]
		if !ok || got.Kind != c.kind || got.Born != c.born || got.By != c.by || got.Reason != c.why {
			t.Errorf("%s: %+v, wanted %+v", d.agent(c.who).Label(), got, c)
		}
		if one := must(d.s.Endings(background, false, c.who))(t); len(one) != 1 || !slices.Equal(one[c.who].Meta, got.Meta) {
			t.Errorf("%s alone: %+v", d.agent(c.who).Label(), one)
		}
	}
	equal(t, "status of the dead", d.agent(gone).Status, agent.Dead)
}
