package kernel

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/testkit"
)

// What was shown for a second is on disk, so that a kill of the process loses at most a second of a reply; the entry of the
// whole reply takes its place.
func TestShownWordsAreKeptWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"steps": [{"text": "piece one. "}, {"wait": "one"}, {"text": "piece two. "}, {"wait": "two"}, {"text": "the end"}]}`)
		b.start()
		turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go"}))(t)
		kept := func(want string) {
			t.Helper()
			synctest.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			if reply, _, err := b.store.Reply(t.Context(), b.zero.ID); err != nil || reply.Text != want {
				t.Errorf("%q is kept, want %q: %v", reply.Text, want, err)
			}
		}
		kept("piece one. ")
		b.gates.Open("one")
		kept("piece one. piece two. ")
		b.gates.Open("two")
		testkit.Must(turn.Wait())(t)
		kept("")
		if got := b.history(b.zero.ID); !slices.Contains(got, "assistant piece one. piece two. the end") {
			t.Errorf("%q", got)
		}
	})
}
