package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/driver"
	"ramet/internal/operation/public"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
	"ramet/internal/turn/permit"
)

// What a program that drives an agent offers can be chosen by the program's own word, or as NAME:WORD where ramet has
// the same word.
func TestWhatAProgramOffersIsChosen(t *testing.T) {
	w, ctx := open(t, nil), t.Context()
	made := testkit.Must(w.Agents().Fork(ctx, Fork{Parent: found(t, w, "0"), Name: "ada", Model: driver.Ref("claude", "")}))(t)
	ada, zero := made.Child, found(t, w, "0")
	choose := func(a agent.Agent, word, hint string, code fault.Code) {
		t.Helper()
		err := w.Programs().ChooseMode(ctx, a, word)
		if f, _ := fault.Of(err); code != "" && (!fault.Is(err, code) || !strings.Contains(f.Hint, hint)) || code == "" && err != nil {
			t.Errorf("%s: %v, want %q with %q", word, err, code, hint)
		}
	}
	program := func() string {
		t.Helper()
		p, err := w.Programs().Program(ctx, ada)
		if err != nil || p == nil || p.Mode == nil || p.Boxed == nil {
			t.Fatalf("%+v, %v", p, err)
		}
		return fmt.Sprint(p.Driver, " ", *p.Mode, " ", *p.Boxed, " ", len(p.Modes), len(p.Models), len(p.Efforts), len(p.Commands))
	}
	preset := testkit.Must(driver.FindPreset("claude", nil))(t)
	if got, want := program(), fmt.Sprint("claude ", preset.Mode, " false 0 0 0 0"); got != want {
		t.Errorf("before it ran: %s, want %s", got, want)
	}
	choose(ada, "claude:own", "when it has run once", fault.InvalidField)
	own, both := driver.Choice{Word: "own", Title: "Own"}, driver.Choice{Word: string(permit.Ask)}
	models := []driver.Choice{{Word: "big", Title: "Big"}, {Word: "two words"}}
	testkit.OK(t, w.Programs().Offers().Keep("claude", driver.Offer{Version: "1", Modes: []driver.Choice{own, both}, Models: models,
		Commands: []driver.Choice{{Word: "review", About: "Review"}, {Word: "compact", About: "Compact", Hint: "what"}}}))
	choose(ada, "claude:none", "claude has own, ask", fault.InvalidField)
	choose(ada, "none", "", fault.InvalidField)
	choose(zero, "own", "", fault.InvalidField)
	choose(zero, ":own", "", fault.InvalidField)
	choose(ada, "own", "", "")
	if got := program(); got != "claude own true 2 2 0 2" {
		t.Errorf("with its own mode: %s", got)
	}
	choose(ada, string(permit.Ask), "", "") // ramet's, not the program's
	if got := program(); got != "claude own true 2 2 0 2" {
		t.Errorf("with ramet's mode of the same name: %s", got)
	}
	choose(ada, "claude:"+string(permit.Ask), "", "")
	if got := program(); !strings.HasPrefix(got, "claude ask ") {
		t.Errorf("with its own mode of the same name: %s", got)
	}
	if p, err := w.Programs().Program(ctx, zero); p != nil || err != nil || w.Programs().ProgramCommands(zero) != nil {
		t.Errorf("agent 0: %+v, %v", p, err)
	}
	listed := ""
	for _, c := range w.Programs().ProgramCommands(ada) {
		listed += fmt.Sprintf("%s (%s, %s) ", c.Name, c.Description, c.Hint)
	}
	if listed != "review (Review, ) claude:compact (Compact, what) " {
		t.Errorf("commands %s", listed)
	}
	w.system.Drivers = func(context.Context, *Workspace, bool) public.Drivers {
		return public.Drivers{Drivers: []public.Driver{{Name: "claude", Title: "C", State: "ready"}, {Name: "codex", Title: "X", State: "found"}, {Name: "goose", State: "absent"}}}
	}
	listed = ""
	for _, m := range w.Programs().programModels(ctx) {
		listed += fmt.Sprintf("%s (%s) ", m.Ref, m.Title)
	}
	if listed != "driver/claude (C (drives the agent)) driver/claude/big (C: Big) driver/codex (X (drives the agent)) " {
		t.Errorf("models %s", listed)
	}
	storetest.FailEachStatement(t, &sqlite.Before, "Program", func() error { return failed(w.Programs().Program(ctx, ada)) })
	storetest.FailEachStatement(t, &sqlite.Before, "DrivenOf", func() error { return failed(w.Programs().DrivenOf(ctx, ada)) })
	storetest.FailEachStatement(t, &sqlite.Before, "ChooseMode", func() error { return w.Programs().ChooseMode(ctx, ada, "own") })
}
