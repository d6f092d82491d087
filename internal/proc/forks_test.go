package proc

import (
	"testing"

	"ramet/internal/id"
	"ramet/internal/registry"
)

// A user's fork of an agent whose turns begin and end all the time is never refused for the
// lease that its own kernel takes and gives back.
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
		if _, err := b.kernel.Fork(t.Context(), f, false); err != nil {
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
