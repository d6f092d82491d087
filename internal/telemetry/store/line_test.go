package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ramet/internal/fault"
	"ramet/internal/telemetry"
)

// gate carries calls when it is told to.
type gate struct {
	begun  chan int
	answer chan error
}

func (g *gate) carry(batch []*call) error {
	g.begun <- len(batch)
	return <-g.answer
}

func TestThoseWhoWaitShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{make(chan int), make(chan error)}
		l := newLine("the place", g.carry)
		var wg sync.WaitGroup
		start := func(want fault.Code) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				err := l.do(ctx, &call{})
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
		go func() { l.close(); close(closed) }()
		synctest.Wait()
		g.answer <- nil
		if n := <-g.begun; n != 1 {
			t.Errorf("the last carries %d", n)
		}
		g.answer <- nil
		wg.Wait()
		third()
		<-closed
		if err := l.do(t.Context(), &call{}); !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	})
}

func TestNothingIsWrittenAfterAnUncertainCommit(t *testing.T) {
	torn := fault.New(fault.StorageIO, "sync failed")
	carried := 0
	l := newLine("the place", func(batch []*call) error {
		carried++
		batch[0].err = torn
		return torn
	})
	for i := range 3 {
		err := l.do(t.Context(), &call{})
		if !errors.Is(err, torn) || i > 0 && !strings.Contains(err.Error(), "earlier") {
			t.Error(err)
		}
	}
	if carried != 1 {
		t.Errorf("carried %d", carried)
	}
}

// A record that the database does not take fails alone.
func TestOneCulpritFailsAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		refuse := `CREATE TRIGGER no BEFORE INSERT ON telemetry_runs WHEN NEW.agent_name = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END`
		if s.forUpdate != "" {
			refuse = `ALTER TABLE telemetry_runs ADD CONSTRAINT no CHECK (agent_name <> 'bad')`
		}
		if _, err := s.writer.Exec(refuse); err != nil {
			t.Fatal(err)
		}
		good, bad := plain(t, 1, ""), plain(t, 2, "")
		bad.AgentName = "bad"
		batch := []*call{{news: []telemetry.New{good}}, {news: []telemetry.New{bad}}, {news: []telemetry.New{plain(t, 3, "")}},
			{eventID: good.EventID, patch: parsePatch(t, `{"host": "h"}`)}}
		if err := s.carry(batch); err != nil {
			t.Fatal(err)
		}
		for i, c := range batch {
			if failed := c.err != nil; failed != (i == 1) || c.refused != nil {
				t.Errorf("%d: %v, %v", i, c.err, c.refused)
			}
		}
		if r, err := s.Get(t.Context(), good.EventID); err != nil || r.Host != "h" {
			t.Error(r, err)
		}
	})
}
