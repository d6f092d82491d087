package runner

import (
	"fmt"
	"sync"
	"testing"

	"ramet/internal/ledger"
)

// An item of an agent without tools and files: fork, turn, ledger and end. Four are done
// side by side where a run allows it; the time is that for each.
func BenchmarkItem(b *testing.B) {
	for _, ledgered := range []bool{true, false} {
		for _, parallel := range []int{1, 4} {
			b.Run(fmt.Sprintf("ledger=%v/parallel=%d", ledgered, parallel), func(b *testing.B) {
				s := newStageCrew(b, `{"repeat": true, "steps": [{"text": "done"}, {"usage": {"input": 10, "output": 5}}]}`, func(o *WorkerPoolOptions) {
					if !ledgered {
						o.Book = func(Attempt) ledger.Book { return nil }
					}
				})
				next := make(chan int)
				var work sync.WaitGroup
				for range parallel {
					work.Go(func() {
						for n := range next {
							it := s.item("Say done.", Output{Path: "drafts/x", Answer: true})
							it.Scope = fmt.Sprintf("s%d", n)
							it.ID = "r1:draft:1:" + it.Scope
							if _, err := s.do(it); err != nil {
								b.Error(err)
							}
						}
					})
				}
				n := 0
				for b.Loop() {
					n++
					next <- n
				}
				close(next)
				work.Wait()
			})
		}
	}
}
