package runner

import (
	"context"
	"sync"
	"testing"

	"ramet/internal/run"
)

// slowLog keeps its first writer waiting until it is let go.
type slowLog struct {
	Log
	began, let chan struct{}
	appends    [][]Record
}

func (l *slowLog) Append(_ context.Context, records ...Record) error {
	if l.appends = append(l.appends, records); len(l.appends) == 1 {
		close(l.began)
		<-l.let
	}
	return nil
}

// Who tells something while the log is being written waits for one writing, together with all
// others, and nobody is told of before it is written; the order is that of the telling.
func TestEventsAreWrittenTogether(t *testing.T) {
	l := &slowLog{began: make(chan struct{}), let: make(chan struct{})}
	var told []string
	r := &Run{Options: Options{Log: l, Watch: func(e Record) { told = append(told, e.Span) }}}
	var all sync.WaitGroup
	tell := func(span string) {
		r.mu.Lock()
		b := r.writing.stage(Record{Type: run.LLMCallStarted, Span: span})
		r.mu.Unlock()
		all.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if err := r.await(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
	}
	tell("a")
	<-l.began
	tell("b")
	tell("c")
	r.mu.Lock() // is free while others wait for the disk
	if len(told) != 0 {
		t.Errorf("told of %q", told)
	}
	r.mu.Unlock()
	close(l.let)
	all.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.append(t.Context(), Record{Type: run.RunCompleted, Span: "d"}); err != nil {
		t.Fatal(err)
	}
	if len(l.appends) != 3 || len(l.appends[1]) != 2 || len(told) != 4 || told[0]+told[1]+told[2]+told[3] != "abcd" {
		t.Errorf("%d writings, told of %q", len(l.appends), told)
	}
}
