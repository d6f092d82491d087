package process_test

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

func TestKillReachesDescendantsOnly(t *testing.T) {
	w := newWorld(t)
	a := w.child(w.zero, "a")
	b := w.child(a, "b")
	c := w.child(b, "c")
	w.child(c, "d")
	w.child(w.zero, "stranger")
	uncle := w.child(a, "sibling")

	w.refused(b, "kill", `{"agent":"b"}`, "use exit")
	w.refused(b, "kill", fmt.Sprintf(`{"agent":%q}`, b), "use exit")
	w.refused(b, "kill", `{"agent":"a","cascade":true}`, "your ancestor")
	w.refused(b, "kill", `{"agent":"parent"}`, "your ancestor")
	w.refused(b, "kill", `{"agent":"0"}`, "Agent 0 cannot be killed")
	w.refused(w.zero, "kill", `{"agent":"0"}`, "cannot be killed")
	w.refused(b, "kill", `{"agent":"stranger"}`, "is not your descendant")
	w.refused(b, "kill", fmt.Sprintf(`{"agent":%q}`, uncle), "is not your descendant")
	w.refused(b, "kill", `{"agent":"nobody"}`, `no agent "nobody"`, "the tool ps")
	w.refused(b, "kill", `{"agent":"strangr"}`, `did you mean "stranger"?`)
	w.refused(b, "kill", `{"agent":"c","reason":"a\u0000b"}`, "NUL")
	all, err := w.Agents(t.Context(), agent.Filter{})
	if err != nil || len(all) != 7 {
		t.Fatalf("somebody died: %d live, %v", len(all), err)
	}

	if got := w.does(b, "kill", `{"agent":"c","reason":"slow"}`); !strings.HasPrefix(got, "Killed c (") || !strings.HasSuffix(got, "In all 1 agent ended.") {
		t.Error(got)
	}
	if row := w.row(c); row.Status != agent.Dead || row.EndReason != "slow" {
		t.Errorf("%+v", row)
	}
	since := w.row(c).EndedAt.UTC().Format("2006-01-02T15:04:05Z")
	if got, want := w.does(b, "kill", `{"agent":"c"}`), "c ("+c.Short()+") is dead since "+since+" (slow). In all 0 agents ended."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Through the dead: d descends from a although c is gone.
	if got := w.does(a, "kill", `{"agent":"d"}`); !strings.HasSuffix(got, "In all 1 agent ended.") {
		t.Error(got)
	}
	// The dead of others are not ours to cascade from.
	w.refused(uncle, "kill", `{"agent":"c","cascade":true}`, "is not your descendant")
}

func TestKillWithEverythingBelow(t *testing.T) {
	w := newWorld(t)
	a := w.child(w.zero, "a")
	b := w.child(a, "b")
	for range 3 {
		w.child(b, "")
	}
	deep := w.child(b, "deep")
	w.kills(b)
	w.child(deep, "deeper")
	got := w.does(w.zero, "kill", `{"agent":"b","cascade":true}`)
	if !strings.Contains(got, "b ("+b.Short()+") is dead since") || !strings.Contains(got, "Killed in its subtree: 5.") || !strings.HasSuffix(got, "In all 5 agents ended.") {
		t.Error(got)
	}
	if got := w.does(w.zero, "kill", `{"agent":"a","cascade":true}`); got != "Killed a ("+a.Short()+"). Killed in its subtree: 0. In all 1 agent ended." {
		t.Error(got)
	}
	if row := w.row(a); row.EndReason != "killed by 0" {
		t.Errorf("%+v", row)
	}
	by := ""
	for e, err := range w.QueryRange(t.Context(), history.Range{Agent: a}, history.Selection{}) {
		m, merr := e.Decode()
		if err != nil || merr != nil {
			t.Fatal(err, merr)
		}
		if e.Kind == history.Killed {
			by = m.By
		}
	}
	if by != string(w.zero) {
		t.Errorf("killed by %q", by)
	}
}

func TestKillFarBelow(t *testing.T) {
	w := newWorld(t)
	leaf := w.zero
	for range 60 {
		leaf = w.child(leaf, "")
	}
	if got := w.does(w.zero, "kill", fmt.Sprintf(`{"agent":%q}`, leaf.Short())); !strings.Contains(got, "In all 1 agent ended") {
		t.Error(got)
	}
}
