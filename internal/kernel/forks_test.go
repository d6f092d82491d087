package kernel

import (
	"strings"
	"sync/atomic"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// A user's fork of an agent whose turns begin and end all the time, and what the user decides about
// it, is never refused for the lease that its own kernel takes and gives back.
func TestForksOfAWorkingAgentAreNotRefused(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	b.start()
	var turns atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ; ; turns.Add(1) {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := b.exec(b.zero.ID, "go on"); err != nil {
				t.Error(err)
			}
		}
	}()
	refused, forks := 0, 0
	for ; (forks < 200 || turns.Load() < 10) && !t.Failed(); forks++ {
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
	<-stopped
	if refused > 0 {
		t.Errorf("%d of %d were refused, beside %d turns", refused, forks, turns.Load())
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
	testkit.Must(b.exec(b.zero.ID, "divide"))(t)
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
