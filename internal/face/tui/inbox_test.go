package tui

import (
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/turn/loop"
)

// The first event is handed out at once, those that follow are gathered, and none is
// lost.
func TestEventsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 1000
		in := newInbox(t.Context(), func(yield func(loop.Event) bool) {
			for range all {
				if !yield(loop.Event{Type: loop.TextDelta, Text: "word "}) {
					return
				}
				<-time.After(5 * time.Millisecond) // of the bubble's clock
			}
		})
		begin := time.Now()
		got := len(in.next(t.Context())().(eventsMsg))
		if waited := time.Since(begin); got != 1 || waited != 0 {
			t.Errorf("%d events at first, after %v", got, waited)
		}
		batches := 1
		for ; got < all; batches++ {
			got += len(in.next(t.Context())().(eventsMsg))
		}
		if least, most := int(all*5*time.Millisecond/pause)-5, int(all*5*time.Millisecond/pause)+5; batches < least || batches > most {
			t.Errorf("%d events came in %d pieces", got, batches)
		}
	})
}
