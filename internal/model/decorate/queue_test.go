package decorate_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
)

// vendor notes which calls run, and ends each when it is told to.
type vendor struct {
	mu   sync.Mutex
	runs []string
	end  map[string]chan struct{}
}

func (v *vendor) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		v.mu.Lock()
		v.runs = append(v.runs, r.Model)
		end := v.end[r.Model]
		v.mu.Unlock()
		select {
		case <-end:
			yield(llm.Event{Type: llm.Finished})
		case <-ctx.Done():
			yield(llm.Fail(llm.Ended(ctx)))
		}
	}
}

func (v *vendor) ran() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Sprint(v.runs)
}

func TestCallsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vendor{end: map[string]chan struct{}{}}
		q := decorate.WithQueue(3, map[string]int{"slow": 1})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		ask := func(ctx context.Context, at, name string) {
			v.mu.Lock()
			v.end[name] = make(chan struct{})
			v.mu.Unlock()
			calls.Go(func() {
				for e := range q.At(at, v).Stream(ctx, llm.Request{Model: name}) {
					if e.Type == llm.Failed && !fault.Is(e.Err, fault.Cancelled) {
						t.Error(e.Err)
					}
				}
			})
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			if got := v.ran(); got != fmt.Sprint(names) {
				t.Errorf("ran %s, want %s", got, names)
			}
		}
		ask(t.Context(), "slow", "s1")
		ask(t.Context(), "slow", "s2") // waits for its vendor, and keeps nobody
		ask(ctx, "slow", "s3")
		ask(t.Context(), "fast", "f1")
		ask(t.Context(), "fast", "f2")
		ask(t.Context(), "fast", "f3") // three run
		want("s1", "f1", "f2")
		cancel() // s3 leaves the queue, unsent
		close(v.end["f1"])
		want("s1", "f1", "f2", "f3")
		close(v.end["s1"])
		want("s1", "f1", "f2", "f3", "s2")
		for _, name := range []string{"f2", "f3", "s2"} {
			close(v.end[name])
		}
		calls.Wait()
		if slices.Contains(v.runs, "s3") {
			t.Error("a call that was taken back was sent")
		}
	})
}
