package loop

import (
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

// Who let a call run stands in the entry of its result; a person's yes stands in the history
// before anything runs.
func TestWhoLetACallRunIsInItsEntry(t *testing.T) {
	for by, want := range map[string]string{history.ByPerson: "assistant usage permit ran result assistant usage", history.ByRule: "assistant usage ran result assistant usage"} {
		var seen []string
		act := noisy("act", tool.Commands)
		s := newStage(t, `{"steps": [{"call": "act"}]}
{"steps": [{"text": "done"}]}`, act)
		s.record = &history.Permission{Answer: history.Allowed, By: by, At: "2026-11-01T00:00:00.000Z", Actor: &history.Actor{Who: "ann", Face: history.Page}}
		s.onEvent = func(e Event) {
			if e.Type == CallOutput && (len(seen) == 0 || seen[len(seen)-1] != "ran") {
				seen = append(seen, "ran")
			}
		}
		s.broken = func(drafts []history.Draft) error {
			for _, d := range drafts {
				switch {
				case d.Meta.Command == history.PermitCommand && d.Meta.CallID != "" && d.Meta.Actor.Who == "ann" && d.Meta.Permission == s.record:
					seen = append(seen, "permit")
				case d.Kind == history.ToolResult && d.Meta.Permission == s.record:
					seen = append(seen, "result")
				default:
					seen = append(seen, string(d.Kind))
				}
			}
			return nil
		}
		s.must()
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s: %s, want %s", by, got, want)
		}
	}
}
