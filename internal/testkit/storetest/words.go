package storetest

import (
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testWords: what was told and said last, of the agent's own history and behind its last clear.
func testWords(t *testing.T, w *Workspace) {
	d := open(t, w)
	d.say(d.zero, "inherited by all")
	worked := d.fork(d.zero, "worked")[0].ID
	d.append(worked, text(history.User, "first"), text(history.Assistant, "well\n\nfirst the one\n**then the other**\n```\n"),
		text(history.User, "find\nthe  cause"), text(history.Note, "tells nothing"))
	called := d.fork(d.zero, "called")[0].ID
	d.append(called, history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.Text, Text: " \n"},
		{Type: history.ToolCall, CallID: "1", Name: "bash", Args: []byte(`{"command":"go test ./..."}`)}}})
	cleared := d.fork(d.zero, "cleared")[0].ID
	d.append(cleared, text(history.User, "old"), text(history.Assistant, "old"), history.Draft{Kind: history.Clear})
	large := d.fork(d.zero, "large")[0].ID
	d.say(large, strings.Repeat("word ", 4000))
	empty := d.fork(d.zero, "empty")[0].ID
	dead := d.fork(d.zero, "dead")[0].ID
	d.say(dead, "to the end")
	testkit.Must(d.s.Kill(background, registry.Kill{Agent: dead}))(t)

	got := testkit.Must(d.s.Words(background, worked, called, cleared, large, empty, dead, id.NewAgent()))(t)
	equal(t, "how many are known", len(got), 6)
	for a, want := range map[id.Agent][2]string{worked: {"find the cause", "then the other"}, called: {"", "bash go test ./..."},
		cleared: {"", ""}, large: {"(19 kB)", ""}, empty: {"", ""}, dead: {"to the end", ""}} {
		if w := got[a]; w.Asked != want[0] || w.Said != want[1] || w.At.IsZero() || (w.Asked == "") != w.AskedAt.IsZero() {
			t.Errorf("%s: %+v, wanted %q", d.agent(a).Label(), w, want)
		}
	}
	equal(t, "of no agents", len(testkit.Must(d.s.Words(background))(t)), 0)
}
