package process_test

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/state"
)

func TestPsDrawsTheTree(t *testing.T) {
	w := newWorld(t)
	a := w.child(w.zero, "ada")
	b := w.child(a, "")
	c := w.child(b, "cleo")
	d := w.child(w.zero, "dan")
	w.does(w.zero, "send", `{"to":"cleo","text":"x"}`)
	w.does(w.zero, "send", `{"to":"cleo","text":"y"}`)
	w.kills(b)
	w.doing[a], w.doing[b] = state.State{Word: state.Working, Detail: state.Thinks}, state.State{Word: "must not be seen"}
	want := fmt.Sprintf("0 (%s) idle\n  ada (%s) working: thinks\n    cleo (%s) idle, 2 unread ← you\n  dan (%s) idle",
		w.zero.Short(), a.Short(), c.Short(), d.Short())
	if got := w.does(c, "ps", `{}`); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	want = fmt.Sprintf("0 (%s) idle ← you\n  ada (%s) working: thinks\n    %s killed: enough\n      cleo (%s) idle, 2 unread\n  dan (%s) idle",
		w.zero.Short(), a.Short(), b.Short(), c.Short(), d.Short())
	if got := w.does(w.zero, "ps", `{"all":true}`); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestPsOfManyShowsKinFirst(t *testing.T) {
	w := newWorld(t)
	for range 150 {
		w.child(w.zero, "")
	}
	me := w.zero
	for range 20 {
		me = w.child(me, "")
	}
	for range 100 {
		w.child(me, "")
	}
	w.child(w.child(me, "last"), "grand")
	// 1 + 150 + 20 + 100 + 2 agents; of no kin are 150, and 123 are.
	all := w.does(me, "ps", `{}`)
	lines := strings.Split(all, "\n")
	if len(lines) != 201 || lines[200] != "… 73 more agents not shown." || !strings.HasPrefix(lines[0], "0 (") {
		t.Fatalf("%d lines: %q … %q", len(lines), lines[0], lines[len(lines)-1])
	}
	for _, must := range []string{"(generation 20) " + me.Short() + " idle ← you\n", "(generation 21) last (", "(generation 22) grand ("} {
		if !strings.Contains(all, must) {
			t.Errorf("%q is not shown", must)
		}
	}
	if n := strings.Count(all, "(generation 21) "); n != 101 {
		t.Errorf("%d children are shown", n)
	}
}

func TestPsOfALineageLongerThanTheList(t *testing.T) {
	w := newWorld(t)
	at := w.zero
	var line []id.Agent
	for range 230 {
		at = w.child(at, "")
		line = append(line, at)
	}
	// The nearest 199 ancestors, and so neither the root nor the nearest child.
	got := w.does(line[220], "ps", `{}`)
	if !strings.Contains(got, line[220].Short()+" idle ← you") || !strings.Contains(got, line[21].Short()) ||
		strings.Contains(got, line[20].Short()) || strings.Contains(got, line[221].Short()) || !strings.HasSuffix(got, "… 31 more agents not shown.") {
		t.Errorf("%s", got)
	}
}
