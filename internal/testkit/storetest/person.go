package storetest

import (
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testPersons holds that what a person does says so, in every entry that it writes, and
// what nobody does does not; and that orders are found without the rest.
func testPersons(t *testing.T, w *Workspace) {
	d := open(t, w)
	mode := func(m string) history.Draft {
		return history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.ModeCommand, Mode: m}}
	}
	ann := history.Actor{Who: "ann", Face: history.Page}
	by := history.By(background, ann)
	kid := testkit.Must(d.s.Fork(by, registry.Fork{Parent: d.zero, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: "kid", Entries: says("go")}}}))(t)[0].ID
	grandkid := testkit.Must(d.s.Fork(history.Unattended(by), registry.Fork{Parent: kid, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}))(t)[0].ID
	testkit.Must(d.s.Append(by, kid, agent.Passing(), says("a")...))(t)
	testkit.Must(d.s.Rename(by, kid, agent.Passing(), "kiddo"))(t)
	testkit.Must(d.s.Append(by, kid, agent.Passing(), mode("box"), mode("read-only")))(t)
	granted := &history.Permission{Answer: history.Allowed, By: history.ByPerson, Choice: "agent", Actor: &ann, Rule: "bash(make)", At: "2026-11-01T00:00:00.000Z"}
	testkit.Must(d.s.Append(background, kid, agent.Passing(), history.Draft{Kind: history.Command,
		Meta: history.Meta{Command: history.PermitCommand, CallID: "c1", Permission: granted, Actor: &ann}}))(t)
	for e, err := range d.s.QueryRange(background, history.Range{Agent: kid}, history.Selection{}) {
		m := testkit.Must(e.Decode())(t)
		if err != nil || m.Actor == nil && len(m.Children) == 0 || m.Actor != nil && *m.Actor != ann {
			t.Errorf("%s entry of a person: %s, %v", e.Kind, e.Meta, err)
		}
	}
	for e, err := range d.s.QueryRange(background, history.Range{Agent: grandkid}, history.Selection{}) {
		if m := testkit.Must(e.Decode())(t); err != nil || m.Actor != nil {
			t.Errorf("%s entry of nobody: %s, %v", e.Kind, e.Meta, err)
		}
	}
	testkit.Must(d.s.Append(background, kid, agent.Passing(), history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.DriverCommand,
		Driver: &history.Driver{Name: "claude", Version: "1", Session: "s", Attested: history.Reported}}}))(t)
	var orders []string
	for e, err := range d.s.QueryRange(background, history.Range{Agent: kid}, history.Selection{Orders: true}) {
		orders = append(orders, testkit.Must(e.Decode())(t).Command)
		equal(t, "error", err, nil)
	}
	equal(t, "orders", strings.Join(orders, " "), "rename mode mode permit")
	equal(t, "a letter of a person", testkit.Must(d.s.Send(by, registry.Send{To: kid, Body: "hi"}))(t).Who, "ann")
	letters := testkit.Must(d.s.Letters(background, kid, mail.Filter{}))(t)
	equal(t, "the letter when it is read", letters[0].Who+" "+letters[0].Face, "ann page")
	testkit.Must(d.s.Kill(by, registry.Kill{Agent: kid}))(t)
	for e, err := range d.s.QueryRange(background, history.Range{Agent: kid}, history.Selection{Newest: 1, Any: true}) {
		if m := testkit.Must(e.Decode())(t); err != nil || m.Actor == nil || e.Kind != history.Killed {
			t.Errorf("%s entry: %s", e.Kind, e.Meta)
		}
	}
	d.audit()
}

// testForeign holds that the list of all endings, that of one, and the history itself tell the same foreign content.
func testForeign(t *testing.T, w *Workspace) {
	d := open(t, w)
	fork := func(from id.Agent) id.Agent {
		t.Helper()
		return testkit.Must(d.s.Fork(background, registry.Fork{Parent: from, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}))(t)[0].ID
	}
	before := fork(d.zero)
	reader := fork(d.zero)
	testkit.Must(d.s.Append(background, reader, agent.Passing(), says("a")[0], history.NewForeign("example.com", "mcp:notes")))(t)
	kid := fork(reader) // it has said nothing
	cleared := fork(kid)
	testkit.Must(d.s.Append(history.By(background, history.Actor{Who: "ann", Face: history.CLI}), cleared, agent.Passing(), history.NewClear()))(t)
	fresh := fork(kid)
	testkit.Must(d.s.Append(background, fresh, agent.Passing(), history.NewClear()))(t) // by a model
	all := testkit.Must(d.s.Endings(background, false))(t)
	for who, want := range map[id.Agent]string{d.zero: "", before: "", reader: "example.com mcp:notes", kid: "example.com mcp:notes", cleared: "", fresh: "example.com mcp:notes"} {
		equal(t, "among all", strings.Join(all[who].Foreign, " "), want)
		equal(t, "of one", strings.Join(testkit.Must(d.s.Endings(background, false, who))(t)[who].Foreign, " "), want)
		equal(t, "in the history", strings.Join(testkit.Must(history.ForeignOf(background, d.s, who))(t), " "), want)
	}
	d.audit()
}
