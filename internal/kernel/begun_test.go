package kernel

import (
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// After a crash only the call that ran may have happened: what stood behind it, and what a person was
// still asked about, had not begun.
func TestWhatHadNotBegunIsSaidSo(t *testing.T) {
	call := func(id string) history.Part {
		return history.Part{Type: history.ToolCall, CallID: id, Name: "bash", Args: json.RawMessage(`{}`)}
	}
	about := func(command, id string) history.Draft {
		return history.Draft{Kind: history.Command, Meta: history.Meta{Command: command, CallID: id}}
	}
	for _, c := range []struct {
		name   string
		behind []history.Draft
		want   []string
	}{
		{"it ran", nil, []string{"a interrupted: outcome unknown", "b not begun: it did not happen"}},
		{"it was asked about", []history.Draft{about(history.AskCommand, "a")},
			[]string{"a not begun: it did not happen; it was waiting for the user's permission", "b not begun: it did not happen"}},
		{"it was permitted", []history.Draft{about(history.AskCommand, "a"), about(history.PermitCommand, "a")},
			[]string{"a interrupted: outcome unknown", "b not begun: it did not happen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, `{"repeat": true, "steps": [{"text": "on"}]}`)
			ask := testkit.Must(history.Say(history.User, "do both"))(t)
			left := append([]history.Draft{ask, {Kind: history.Assistant, Parts: []history.Part{call("a"), call("b")}}}, c.behind...)
			testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), left...))(t)
			b.start()
			turn, err := b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go on"})
			if err == nil {
				_, err = turn.Wait()
			}
			testkit.OK(t, err)
			var got []string
			for e, err := range b.store.QueryRange(t.Context(), history.Range{Agent: b.zero.ID}, history.Selection{}) {
				testkit.OK(t, err)
				parts := testkit.Must(e.Parts())(t)
				for _, p := range parts {
					if p.Type == history.Result {
						got = append(got, p.CallID+" "+p.Text)
					}
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
