package kernel

import (
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// A user's fork of an agent whose turns begin and end all the time, and what the user decides about
// it, is never refused for the lease that its own kernel takes and gives back.
func TestForksOfAWorkingAgentAreNotRefused(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	b.start()
	stop, working := make(chan struct{}), make(chan int)
	go func() {
		turns := 0
		for {
			select {
			case <-stop:
				working <- turns
				return
			default:
			}
			if _, err := b.exec(b.zero.ID, "go on"); err != nil {
				t.Error(err)
			}
			turns++
		}
	}()
	refused := 0
	const forks = 400
	for range forks {
		f := registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent()}}}
		if _, err := b.kernel.Fork(t.Context(), f, ""); err != nil {
			t.Log(err)
			refused++
		}
		if _, err := b.kernel.Order(t.Context(), b.zero.ID, history.Draft{Kind: history.Command, Meta: history.Meta{Command: "effort", Effort: "low"}}); err != nil {
			t.Log(err)
			refused++
		}
	}
	close(stop)
	turns := <-working
	t.Logf("%d forks beside %d turns", forks, turns)
	if refused > 0 || turns < 10 {
		t.Errorf("%d of %d were refused, beside %d turns", refused, forks, turns)
	}
}

// Of forks of one message that is refused for one of them, that one is told why, and the others
// whose fault it is.
func TestTheOthersAreToldWhichForkWasRefused(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "a", "name": "fix 1"}}, {"call": "fork", "args": {"prompt": "b", "name": "fix1"}}]}
{"steps": [{"text": "so be it"}]}
`)
	b.start()
	if _, err := b.exec(b.zero.ID, "divide"); err != nil {
		t.Fatal(err)
	}
	const why = `"fix 1" is not a name for an agent`
	got := b.history(b.zero.ID)
	var told []string
	for _, e := range got {
		if text, ok := strings.CutPrefix(e, "tool_result "); ok {
			told = append(told, text)
		}
	}
	if len(told) != 2 || !strings.HasPrefix(told[0], why) || !strings.HasPrefix(told[1], `not carried out, because the fork "fix 1" of the same message was refused: `+why) {
		t.Errorf("%q", got)
	}
}
