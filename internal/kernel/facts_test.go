package kernel

import (
	"context"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// What an agent should know of the place is written once, in front of the user's words, and
// again only when it is another; the words stay the user's.
func TestFactsAreWrittenOnce(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "ok"}]}`)
	here := "Folder /here."
	b.Options.Facts = func(context.Context, agent.Agent) Place { return func(Model, tool.Box) string { return here } }
	b.start()
	for _, said := range []string{"one", "two"} {
		testkit.Must(b.exec(b.zero.ID, said))(t)
	}
	here = "Folder /there."
	testkit.Must(b.exec(b.zero.ID, "three"))(t)
	b.expect(b.zero.ID, "fork", "user one", "assistant ok", "usage", "user two", "assistant ok", "usage", "user three", "assistant ok", "usage")
	var told []string
	for _, m := range b.remembered(b.zero.ID).Messages() {
		if len(m.Parts) > 1 {
			told = append(told, m.Parts[0].Text+m.Words())
		}
	}
	if got := strings.Join(told, "|"); got != "[ramet] You are 0; model script/test. Folder /here.\n\none|[ramet] You are 0; model script/test. Folder /there.\n\nthree" {
		t.Errorf("%q", got)
	}
	b.sameAsReplay(b.zero.ID)
	if history.Plain([]history.Part{{Type: history.Facts, Text: here}}) != "" {
		t.Error("facts are shown as what the user said")
	}
}
