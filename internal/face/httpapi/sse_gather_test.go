package httpapi

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/bus"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// Nobody is woken for each word, and yet no word is late: whoever looks is told of all that was
// published, and whoever waits is woken by the next, however long nobody looked.
func TestWhatIsPublishedIsThereForWhoLooks(t *testing.T) {
	var here bus.Bus[loop.Event]
	e := testkit.Must(StartEvents(t.Context(), EventsOptions{Bus: &here, Feed: feedOf{}, Look: time.Hour, Pace: time.Hour}))(t)
	defer e.Stop()
	at := int64(0)
	for range 200 {
		word := loop.Event{Type: loop.TextDelta, Agent: "a", Text: "word "}
		here.Publish(word)
		here.Publish(word)
		batch, last, _, _ := e.after(at)
		if len(batch) != 2 || !strings.Contains(string(batch[1].text), "word") {
			t.Fatalf("%d of two events are there", len(batch))
		}
		_, _, _, wake := e.after(last)
		here.Publish(word)
		<-wake
		if batch, at, _, _ = e.after(last); len(batch) != 1 {
			t.Fatalf("%d of one event are there", len(batch))
		}
	}
}

// A reader that names no place begins behind what was published before it came.
func TestANewReaderBeginsBehindWhatWasPublished(t *testing.T) {
	var b bus.Bus[loop.Event]
	e := testkit.Must(StartEvents(t.Context(), EventsOptions{Bus: &b, Feed: feedOf{}, Look: time.Hour, Pace: time.Hour}))(t)
	defer e.Stop()
	for n := range int64(100) {
		b.Publish(note(1))
		if at, _, _ := e.place(""); at != n+1 {
			t.Fatalf("it begins behind event %d of %d", at, n+1)
		}
	}
}
