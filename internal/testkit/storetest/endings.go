package storetest

import (
	"slices"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
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
	born := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: []registry.Child{{ID: id.NewAgent(), Name: "born", Entries: says("the task")}}}))(t)[0].ID
	empty := d.fork(d.zero, "empty")[0].ID
	ended := func(name string, by id.Agent, why string) (id.Agent, id.Message) {
		a := d.fork(d.zero, name)[0].ID
		if by == "" {
			by = a
		}
		said := d.say(a, "go")
		testkit.Must(d.s.Kill(background, registry.Kill{Agent: a, By: by, Reason: why}))(t)
		return a, said[0].ID
	}
	gone, _ := ended("gone", asked, "no need")
	left, _ := ended("left", "", "my task ended")
	over, _ := ended("over", asked, state.Over)
	redacted, secret := ended("redacted", asked, "no need")
	d.redact(redacted, secret) // an entry behind its death

	living := testkit.Must(d.s.Endings(background, false))(t)
	if _, ok := living[gone]; ok || len(living) != 5 {
		t.Errorf("of the living: %v", living)
	}
	all := testkit.Must(d.s.Endings(background, true))(t)
	if _, ok := living[empty]; ok || all[empty].Kind != "" {
		t.Error("of one who said nothing there is something to tell")
	}
	for _, c := range []struct {
		who  id.Agent
		kind history.Kind
		born bool
		by   id.Agent
		why  string
	}{
		{asked, history.User, false, "", ""}, {failed, history.Note, false, "", ""}, {done, history.Note, false, "", ""},
		{born, history.User, true, "", ""}, {left, history.User, false, left, "my task ended"}, {over, history.User, false, asked, state.Over},
		{gone, "", false, asked, "no need"}, {redacted, history.User, false, asked, "no need"},
	} {
		got, ok := all[c.who]
		if !ok || got.Kind != c.kind || got.Born != c.born || got.By != c.by || got.Reason != c.why {
			t.Errorf("%s: %+v, wanted %+v", d.agent(c.who).Label(), got, c)
		}
		if one := testkit.Must(d.s.Endings(background, false, c.who))(t); len(one) != 1 || !slices.Equal(one[c.who].Meta, got.Meta) {
			t.Errorf("%s alone: %+v", d.agent(c.who).Label(), one)
		}
	}
	equal(t, "status of the dead", d.agent(gone).Status, agent.Dead)
}
