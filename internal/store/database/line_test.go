package database_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
)

type call struct {
	size int
	err  error
}

func newLine(place string, carry func([]*call) error) *database.Line[*call] {
	return database.NewLine(database.LineOptions[*call]{Place: place, Verb: "write to", Carry: carry, Size: func(c *call) int { return c.size }, Most: 10,
		Interrupted: func(cause error) error { return fault.New(fault.Interrupted, "write to %s: %w", place, cause) }})
}

// gate carries calls when it is told to.
type gate struct {
	begun  chan int
	answer chan error
}

func (g *gate) carry(batch []*call) error {
	g.begun <- len(batch)
	return <-g.answer
}

func TestThoseWhoWaitShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{make(chan int), make(chan error)}
		l := newLine("the place", g.carry)
		var wg sync.WaitGroup
		start := func(want fault.Code) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				err := l.Do(ctx, &call{})
				if want == "" && err != nil || want != "" && !fault.Is(err, want) {
					t.Error(err)
				}
			})
			synctest.Wait()
			return cancel
		}
		tooLate := start("")
		if n := <-g.begun; n != 1 {
			t.Errorf("the first carries %d", n)
		}
		second := start(fault.Interrupted) // its turn to lead would come next
		for range 20 {
			defer start("")()
		}
		tooLate()
		second()
		synctest.Wait()
		g.answer <- nil
		if n := <-g.begun; n != 20 {
			t.Errorf("those who waited are %d", n)
		}
		third := start("")
		closed := make(chan struct{})
		go func() { l.Close(); close(closed) }()
		synctest.Wait()
		g.answer <- nil
		if n := <-g.begun; n != 1 {
			t.Errorf("the last carries %d", n)
		}
		g.answer <- nil
		wg.Wait()
		third()
		<-closed
		if err := l.Do(t.Context(), &call{}); !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	})
}

func TestNothingIsWrittenAfterAnUncertainWrite(t *testing.T) {
	torn := fault.New(fault.StorageIO, "sync failed")
	carried := 0
	l := newLine("the place", func(batch []*call) error {
		carried++
		batch[0].err = torn
		return torn
	})
	for i := range 3 {
		c := &call{}
		err := l.Do(t.Context(), c)
		if i == 0 { // it is told to the call
			err = c.err
		}
		if !errors.Is(err, torn) || i > 0 && !strings.Contains(err.Error(), "earlier") {
			t.Error(err)
		}
	}
	if carried != 1 {
		t.Errorf("carried %d", carried)
	}
}

// No more are carried at once than fit, but for one that is larger than all.
func TestABatchHasASize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{make(chan int), make(chan error)}
		l := newLine("the place", g.carry)
		var wg sync.WaitGroup
		for _, size := range []int{1, 4, 6, 1, 50, 1} {
			wg.Go(func() {
				if err := l.Do(t.Context(), &call{size: size}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for _, want := range []int{1, 2, 1, 1, 1} {
			if n := <-g.begun; n != want {
				t.Errorf("%d are carried, want %d", n, want)
			}
			g.answer <- nil
		}
		wg.Wait()
	})
}
