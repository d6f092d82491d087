package kernel

import (
	"fmt"
	"runtime"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// A kernel ends a turn within 200 ms of being asked, tells that it is stopping at once, and
// then what its history says.
func TestAStopTakesNoTime(t *testing.T) {
	b := newBench(t, `{"steps": [{"text": "one "}, {"wait": "gate"}, {"text": "two"}]}`)
	b.start()
	seen, enough := b.kernel.Events.Subscribe(t.Context())
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go"}))(t)
	states := make(chan state.State, 100)
	writes := make(chan struct{})
	go func() {
		defer close(states)
		for e := range seen {
			if e.Type != loop.Became {
				continue
			}
			states <- *e.State
			if e.State.Detail == state.Writes {
				close(writes)
			}
		}
	}()
	<-writes
	if got := b.kernel.States()[b.zero.ID]; got.String() != "working: writes" {
		t.Errorf("it is %q", got)
	}
	ended, err := b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID}) // its model says nothing more: who waited for it would wait for ever
	if err != nil || !ended {
		t.Errorf("%t: %v", ended, err)
	}
	if _, err := turn.Wait(); !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
	if again, err := b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID}); again || err != nil {
		t.Errorf("stopped twice: %v", err)
	}
	var last state.State
	var stopping bool
	for last.Word != state.Interrupted {
		var ok bool
		if last, ok = <-states; !ok {
			t.Fatal("the events ended")
		}
		stopping = stopping || last.Detail == state.Stopping
	}
	enough()
	if !stopping || last.Detail != "stopped by the user" {
		t.Errorf("stopping told: %t, then %q", stopping, last)
	}
}

// What is taken back before it was said is not said; what was said stays.
func TestAPromptCanBeTakenBack(t *testing.T) {
	b := newBench(t, `{"steps": [{"text": "one "}, {"wait": "gate"}]}`)
	b.start()
	seen, enough := b.kernel.Events.Subscribe(t.Context())
	first := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "first", Ticket: "a"}))(t)
	for e := range seen {
		if e.Type == loop.TextDelta {
			break
		}
	}
	enough()
	second := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "second", Ticket: "b"}))(t)
	if ended, err := b.kernel.Interrupt(t.Context(), Stop{Agent: "nobody", Ticket: "b"}); !ended || err != nil {
		t.Errorf("%t %v", ended, err)
	}
	if o, err := second.Wait(); !fault.Is(err, fault.Cancelled) || o.Began {
		t.Errorf("it was said: %+v %v", o, err)
	}
	// One that is on its way is refused when it comes.
	testkit.Must(b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID, Ticket: "c"}))(t)
	if o, err := first.Wait(); !fault.Is(err, fault.Cancelled) || !o.Began {
		t.Errorf("it was not said: %+v %v", o, err)
	}
	if _, err := b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "third", Ticket: "c"}); !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
	said := 0
	for e, err := range b.store.QueryRange(t.Context(), history.Range{Agent: b.zero.ID, End: history.NoLimit}, history.Selection{}) {
		testkit.OK(t, err)
		if e.Kind == history.User {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d prompts stand in the history", said)
	}
}

// A prompt that is taken back while it begins does not begin, or ends: there is no moment in which
// it neither waits nor can be stopped.
func TestAPromptIsTakenBackWheneverThatIs(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "one "}, {"wait": "gate"}]}`)
	b.start()
	for i := range 60 {
		ticket := fmt.Sprint("ticket ", i)
		taken := make(chan error, 1)
		go func() {
			for range i * 20 { // begins later each time
				runtime.Gosched()
			}
			_, err := b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID, Ticket: ticket})
			taken <- err
		}()
		turn, err := b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go", Ticket: ticket})
		if err == nil {
			_, err = turn.Wait()
		}
		if !fault.Is(err, fault.Cancelled) {
			t.Fatalf("%d: %v (%s)", i, err, fault.CodeOf(err))
		}
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
	}
}
