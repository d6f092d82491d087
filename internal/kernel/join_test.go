package kernel

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// said lists the kinds and texts of what an agent's model sees.
func (b *bench) said() string {
	var out []string
	for e, err := range b.store.QueryRange(b.t.Context(), history.Range{Agent: b.zero.ID}, history.Selection{}) {
		testkit.OK(b.t, err)
		if !e.Kind.Reaches() {
			continue
		}
		parts := testkit.Must(e.Parts())(b.t)
		text := history.Plain(parts)
		if e.Kind == history.ToolResult {
			text = "…"
		}
		out = append(out, fmt.Sprintf("%s %s", e.Kind, strings.ReplaceAll(text, "\n", " ")))
	}
	return strings.Join(out, " | ")
}

const working = `{"when": "go", "steps": [{"text": "one "}, {"wait": "gate"}, {"call": "ps"}]}
{"when": "by the way", "steps": [{"text": "I heard"}]}
{"repeat": true, "steps": [{"text": "done"}]}`

// begun starts a turn and waits until its model speaks.
func (b *bench) begun(text string) *Turn {
	b.t.Helper()
	seen, enough := b.kernel.Events.Subscribe(b.t.Context())
	defer enough()
	turn := testkit.Must(b.kernel.Exec(b.t.Context(), b.zero.ID, Prompt{Text: text, Ticket: "first"}))(b.t)
	for e := range seen {
		if e.Type == loop.TextDelta {
			break
		}
	}
	return turn
}

// What a person types while an agent works arrives behind the results of the running step.
func TestWhatIsSaidMeanwhileJoinsTheTurn(t *testing.T) {
	b := newBench(t, working)
	b.start()
	first := b.begun("go")
	person := history.By(t.Context(), history.Actor{Who: "me", Face: history.Terminal})
	second := testkit.Must(b.kernel.Exec(person, b.zero.ID, Prompt{Text: "by the way: keep it", Ticket: "second"}))(t)
	b.gates.Open("gate")
	for _, turn := range []*Turn{first, second} {
		if o, err := turn.Wait(); err != nil || o.Text != "I heard" || !o.Began {
			t.Errorf("%+v %v", o, err)
		}
	}
	if got := b.said(); got != "user go | assistant one  [ps {}] | tool_result … | user by the way: keep it | assistant I heard" {
		t.Error(got)
	}
}

// What a program says, and what was taken back, does not.
func TestWhatDoesNotJoin(t *testing.T) {
	b := newBench(t, working)
	b.start()
	first := b.begun("go")
	person := history.By(t.Context(), history.Actor{Who: "me", Face: history.Terminal})
	back := testkit.Must(b.kernel.Exec(person, b.zero.ID, Prompt{Text: "by the way: no", Ticket: "back"}))(t)
	program := testkit.Must(b.kernel.Exec(history.By(t.Context(), history.Actor{Who: "me", Face: history.CLI}), b.zero.ID, Prompt{Text: "and then"}))(t)
	if ended, err := b.kernel.Interrupt(t.Context(), Stop{Agent: "nobody", Also: []string{"back"}}); !ended || err != nil {
		t.Errorf("%t %v", ended, err)
	}
	b.gates.Open("gate")
	if o, err := back.Wait(); !fault.Is(err, fault.Cancelled) || o.Began {
		t.Errorf("%+v %v", o, err)
	}
	for _, turn := range []*Turn{first, program} {
		if o, err := turn.Wait(); err != nil || o.Text != "done" {
			t.Errorf("%+v %v", o, err)
		}
	}
	if got := b.said(); got != "user go | assistant one  [ps {}] | tool_result … | assistant done | user and then | assistant done" {
		t.Error(got)
	}
}
