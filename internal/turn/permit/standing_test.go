package permit

import (
	"context"
	"path/filepath"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/turn/tool"
)

// Modes come from the nearest ancestor that has one, grants from those that live.
func TestModesAndGrantsInAFamily(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	zero, err := agent.Find(ctx, s, "0")
	if err != nil {
		t.Fatal(err)
	}
	fork := func(parent id.Agent, name string) id.Agent {
		t.Helper()
		born, err := s.Fork(ctx, registry.Fork{Parent: parent, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: name}}})
		if err != nil {
			t.Fatal(err)
		}
		return born[0].ID
	}
	write := func(a id.Agent, drafts ...history.Draft) {
		t.Helper()
		if _, err := s.Append(ctx, a, agent.Passing(), drafts...); err != nil {
			t.Fatal(err)
		}
	}
	kid := fork(zero.ID, "kid")
	grandkid, other := fork(kid, "grandkid"), fork(zero.ID, "other")
	asked := 0
	p := &Policy{Log: s, Confinable: func() error { return nil }, Ask: asker(func(context.Context, Question) (Verdict, error) {
		asked++
		return Verdict{Choice: ForAgent, By: history.Actor{Who: "ann", Face: history.HTTP}}, nil
	})}
	decide := func(p *Policy, a id.Agent, line string) (tool.Grant, *history.Permission) {
		t.Helper()
		c := call(line)
		c.Agent = a
		g, record, _ := p.Decide(ctx, bash, c)
		return g, record
	}
	_, record := decide(p, kid, "make")
	if asked != 1 || record.From != string(kid) {
		t.Fatal(asked, record)
	}
	write(kid, history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.PermitCommand, CallID: "c", Permission: record, Actor: record.Actor}})
	// Another process, or this one after a restart, knows it from the history.
	for _, policy := range []*Policy{p, {Log: s}} {
		for _, a := range []id.Agent{kid, grandkid} {
			if g, record := decide(policy, a, "make"); g != tool.Free || record.By != history.ByRule || record.From != string(kid) || record.Actor.Who != "ann" {
				t.Errorf("%s: %q %+v", a, g, record)
			}
		}
		if g, _ := decide(&Policy{Log: s}, other, "make"); g != "" {
			t.Errorf("another agent has it too: %q", g)
		}
		if g, _ := decide(&Policy{Log: s}, zero.ID, "make"); g != "" {
			t.Errorf("its parent has it too: %q", g)
		}
	}
	write(zero.ID, ModeEntry(Box))
	if g, record := decide(&Policy{Log: s, Confinable: p.Confinable}, other, "x"); g != tool.Confine || record.Mode != "box" {
		t.Errorf("the mode of the parent: %q %+v", g, record)
	}
	write(kid, ModeEntry(ReadOnly))
	if g, record := decide(p, grandkid, "make"); g != "" || record.Mode != "read-only" || record.By != history.ByMode {
		t.Errorf("the mode of the nearest: %q %+v", g, record)
	}
	write(kid, ModeEntry(Ask))
	if _, err := s.Kill(ctx, registry.Kill{Agent: kid}); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []*Policy{{Log: s}, {Log: s, granted: p.granted}} {
		if g, _ := decide(policy, grandkid, "make"); g != "" {
			t.Errorf("a grant outlives its agent: %q", g)
		}
	}
}
