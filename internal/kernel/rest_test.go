package kernel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An agent that was worked with and is not asked anything keeps no memory,
// and is there again when it is asked.
func TestAnAgentRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
		b.Options.Rest = time.Minute
		b.start()
		for range 3 {
			if outcome, err := b.exec(b.zero.ID, "are you there?"); err != nil || outcome.Text != "here" {
				t.Fatalf("%+v %v", outcome, err)
			}
			if b.remembered(b.zero.ID) == nil {
				t.Error("it is forgotten at once")
			}
			time.Sleep(2 * time.Minute)
			if b.remembered(b.zero.ID) != nil {
				t.Error("it is still in memory")
			}
		}
	})
}

// Whoever asks at the very moment when it goes to rest is answered all the same.
func TestAnAgentThatGoesToRestIsAskedAllTheSame(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	b.Options.Rest = time.Nanosecond
	b.start()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if outcome, err := b.exec(b.zero.ID, "are you there?"); err != nil || outcome.Text != "here" {
					t.Errorf("%+v %v", outcome, err)
				}
			}
		})
	}
	all.Wait()
}
