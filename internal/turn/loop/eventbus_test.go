package loop

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
)

func numbered(n int) Event { return Event{Turn: int64(n)} }

// collected returns the numbers of events.
func collected(events iter.Seq[Event]) (out []int) {
	for e := range events {
		out = append(out, int(e.Turn))
	}
	return out
}

func TestEveryReaderGetsEverythingInOrder(t *testing.T) {
	var b EventBus
	b.Publish(numbered(-1)) // before anybody listens
	var got [3][]int
	var readers sync.WaitGroup
	for i := range got {
		values, _ := b.Subscribe(t.Context())
		readers.Go(func() { got[i] = collected(values) })
	}
	want := []int{}
	for i := range 10_000 {
		b.Publish(numbered(i))
		want = append(want, i)
	}
	b.Close()
	readers.Wait()
	for i := range got {
		if !slices.Equal(got[i], want) {
			t.Errorf("reader %d got %d values", i, len(got[i]))
		}
	}
	late, _ := b.Subscribe(t.Context())
	if got := collected(late); len(got) > 0 {
		t.Errorf("%v after the end", got)
	}
}

func TestAReaderCanLeave(t *testing.T) {
	var b EventBus
	ctx, cancel := context.WithCancel(t.Context())
	values, _ := b.Subscribe(ctx)
	b.Publish(numbered(1))
	cancel()
	if got := collected(values); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	values, _ = b.Subscribe(t.Context())
	b.Publish(numbered(2))
	b.Publish(numbered(3))
	for v := range values {
		if v.Turn != 2 {
			t.Errorf("got %d", v.Turn)
		}
		break
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queues) != 0 {
		t.Errorf("%d queues are left", len(b.queues))
	}
}

func TestEnoughLeavesNothingOut(t *testing.T) {
	var b EventBus
	values, enough := b.Subscribe(t.Context())
	b.Publish(numbered(1))
	b.Publish(numbered(2))
	enough()
	b.Publish(numbered(3))
	if got := collected(values); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestWhoOverhearsIsNoReasonToSayMore(t *testing.T) {
	var b EventBus
	values, enough := b.Overhear(t.Context())
	if b.Heard() {
		t.Error("somebody listens")
	}
	b.Publish(numbered(1))
	heard, leave := b.Subscribe(t.Context())
	if !b.Heard() {
		t.Error("nobody listens")
	}
	b.Publish(numbered(2))
	leave()
	enough()
	if b.Heard() {
		t.Error("somebody still listens")
	}
	if got, all := collected(values), collected(heard); !slices.Equal(got, []int{1, 2}) || !slices.Equal(all, []int{2}) {
		t.Errorf("got %v and %v", got, all)
	}
}

func TestABoxGivesEverythingOnce(t *testing.T) {
	var b EventBus
	box := b.Box(t.Context())
	if got := box.Take(); len(got) > 0 {
		t.Errorf("got %v of nothing", got)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for i := range 5_000 {
				b.Publish(numbered(i))
			}
		})
	}
	sum, n := 0, 0
	for n < 20_000 {
		<-box.Rings()
		for _, v := range box.Take() {
			sum, n = sum+int(v.Turn), n+1
		}
	}
	writers.Wait()
	if left := box.Take(); n != 20_000 || sum != 4*5_000*4_999/2 || len(left) > 0 {
		t.Errorf("got %d values, which sum up to %d, and then %v", n, sum, left)
	}
	b.Close()
	<-box.Rings()
}
