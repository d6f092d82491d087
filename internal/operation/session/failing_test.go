package session

import (
	"io"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
	"ramet/internal/turn/permit"
)

// No verb of a workspace says that it has succeeded when a statement of it failed.
func TestNoVerbSucceedsWithAFailedStatement(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "ada")
	child(t, w, "ada", "bob")
	ada, bob := found(t, w, "ada"), found(t, w, "bob")
	ctx := t.Context()
	said := testkit.Must(w.History().Append(ctx, ada, history.User, "hello"+strings.Repeat(" there", history.BlobCutoff)))(t)
	prompt, all, zero := "go", true, found(t, w, "0")
	// Transcript comes before there are states of files: it says which it could not compare.
	// Send is not in the table: what it does after its letter is written may fail. Neither is Overview, which leaves
	// out what it cannot find out.
	testkit.Must(w.Mail().Send(ctx, Letter{From: &bob, To: ada, Body: "a letter"}))(t)
	for _, c := range []struct {
		name string
		verb func() error
	}{
		{"Transcript", func() error { return failed(w.History().Transcript(ctx, ada, Exporting{})) }},
		{"Append", func() error { return failed(w.History().Append(ctx, ada, history.User, "again")) }},
		{"Mark", func() error { return failed(w.History().Mark(ctx, ada, "label")) }},
		{"Rewind", func() error { return failed(w.History().Rewind(ctx, ada, "label")) }},
		{"RewindTo", func() error { return failed(w.History().RewindTo(ctx, ada, said.ID)) }},
		{"Fork", func() error {
			return failed(w.Agents().Fork(ctx, Fork{Parent: ada, Name: "kid", Prompt: &prompt, At: said.ID}))
		}},
		{"Newest", func() error { return failed(w.Mail().Newest(ctx, ada.ID)) }},
		{"Unread", func() error { return failed(w.Mail().Unread(ctx, ada.ID, 0)) }},
		{"Peek", func() error { _, _, err := w.Mail().Peek(ctx, ada, 1); return err }},
		{"Read", func() error { _, _, err := w.Mail().Read(ctx, ada, 0); return err }},
		{"Hide", func() error { return w.Mail().Hide(ctx, ada.ID, 1) }},
		{"Find", func() error { return failed(w.Find(ctx, "ada")) }},
		{"Find by id", func() error { return failed(w.Find(ctx, string(ada.ID)[:8])) }},
		{"List", func() error { return failed(w.Agents().List(ctx, true, false)) }},
		{"Everybody", func() error { return failed(w.Agents().Everybody(ctx)) }},
		{"States", func() error { return failed(w.Agents().States(ctx, true)) }},
		{"State", func() error { return failed(w.Agents().State(ctx, ada)) }},
		{"Page", func() error { return failed(w.History().Page(ctx, bob.ID, Span{Limit: 10})) }},
		{"Page after", func() error { return failed(w.History().Page(ctx, ada.ID, Span{After: said.ID})) }},
		{"Timeline", func() error { return failed(w.History().Timeline(ctx, ada.ID)) }},
		{"Labels", func() error { return failed(w.Agents().Labels(ctx, ada.ID)) }},
		{"Lineage", func() error { return failed(w.Agents().Lineage(ctx)) }},
		{"Search", func() error { return failed(w.History().Search(ctx, Search{Words: "hello", Limit: 5})) }},
		{"Search of one", func() error { return failed(w.History().Search(ctx, Search{Words: "hello", Of: bob.ID, Limit: 5})) }},
		{"WriteSession", func() error { return failed(w.History().WriteSession(ctx, ada, "claude", io.Discard)) }},
		{"Changed", func() error { return failed(w.Files().Changed(ctx, ada.ID)) }},
		{"fingerprint", func() error { return failed(w.Turns().fingerprint(ctx)) }},
		{"Standing", func() error { return failed(w.Turns().Standing(ctx, ada)) }},
		{"ShowStates", func() error { return failed(w.Files().ShowStates(ctx, ada)) }},
		{"Imports", func() error { return failed(w.History().Imports(ctx)) }},
		{"SweepBlobs", func() error { return failed(w.Care().SweepBlobs(ctx, true)) }},
		{"Victims", func() error { _, _, err := w.Agents().Victims(ctx, Kill{Agent: ada, Cascade: &all}); return err }},
		{"Wait", func() error { return failed(w.Turns().Wait(ctx, Wait{Agents: []agent.Agent{ada}, Mail: &bob}, 0)) }},
		{"Stop", func() error { return failed(w.Turns().Stop(ctx, kernel.Stop{Agent: ada.ID})) }},
		{"Leave", func() error { return failed(w.Turns().Leave(As(ctx, bob.ID), "")) }},
		{"mayPrompt", func() error { return w.mayPrompt(As(ctx, ada.ID), bob.ID) }},
		{"Unlimited", func() error { return w.Unlimited(As(ctx, ada.ID), "x") }},
		{"KillFinished", func() error { return failed(w.Agents().KillFinished(ctx)) }},
		{"ContinueAll", func() error { return failed(w.Turns().ContinueAll(ctx, nil)) }},
		{"SetEffort", func() error { return w.Models().SetEffort(ctx, ada, "high") }},
		{"Effort", func() error { return failed(w.Models().Effort(ctx, ada)) }},
		{"SetMode", func() error { return w.Turns().SetMode(ctx, ada, permit.Ask) }},
		{"Fork by itself", func() error { return failed(w.Agents().Fork(As(ctx, ada.ID), Fork{Parent: ada, Prompt: &prompt})) }},
		{"RecoverFiles", func() error { return failed(w.Files().draftState(ctx, zero)) }},
		{"Rename", func() error { return failed(w.Agents().Rename(ctx, bob, "bill")) }},
		{"Redact", func() error { return w.History().Redact(ctx, ada, said.ID) }},
		{"Clear", func() error { return failed(w.History().Clear(ctx, ada)) }},
		{"Kill", func() error { return failed(w.Agents().Kill(ctx, Kill{Agent: bob})) }},
	} {
		storetest.FailEachStatement(t, &sqlite.Before, c.name, c.verb)
	}
}

// failed returns the error of a call.
func failed[T any](_ T, err error) error { return err }

// A page after an entry has what follows it, oldest first, and the beginning of what is too long to show.
func TestAPageAfterAnEntryIsInOrder(t *testing.T) {
	w := open(t, nil)
	zero := found(t, w, "0")
	var all []id.Message
	for _, text := range []string{"one", "two", strings.Repeat("x", maxShown) + "three"} {
		e := testkit.Must(w.History().Append(t.Context(), zero, history.User, text))(t)
		all = append(all, e.ID)
	}
	p, err := w.History().Page(t.Context(), zero.ID, Span{After: all[0]})
	if err != nil || len(p.Entries) != 2 || p.Entries[0].ID != all[1] || p.Entries[1].ID != all[2] || p.Head != all[2] {
		t.Fatalf("%+v %v, want %v", p, err, all[1:])
	}
	short, long := p.Entries[0].Parts[0], p.Entries[1].Parts[0]
	if short.Text != "two" || short.Size != 0 || len(long.Text) != maxShown || long.Size != int64(len("three")) {
		t.Errorf("%q and %d bytes of %d more", short.Text, len(long.Text), long.Size)
	}
}
