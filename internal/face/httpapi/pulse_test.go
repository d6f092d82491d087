package httpapi

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestThePulseOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails, hangs atomic.Bool
		var asked atomic.Int64
		p := &pulse{heard: time.Now(), ask: func(ctx context.Context) error {
			asked.Add(1)
			if hangs.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			if fails.Load() {
				return errors.New("away")
			}
			return nil
		}}
		is := func(want string) {
			t.Helper()
			began := time.Now()
			if got := p.state(t.Context()); got != want {
				t.Errorf("it is %s, not %s", got, want)
			}
			if took := time.Since(began); took > pulseWait {
				t.Errorf("it took %s", took)
			}
		}
		is(storeOK)
		for range 100 {
			is(storeOK)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("it was asked %d times in one moment", n)
		}
		fails.Store(true)
		time.Sleep(2 * time.Second)
		is(storeDegraded)
		time.Sleep(pulseLost)
		is(storeUnreachable)
		fails.Store(false)
		time.Sleep(2 * time.Second)
		is(storeOK)
		hangs.Store(true)
		time.Sleep(2 * time.Second)
		is(storeDegraded)
		time.Sleep(pulseLost)
		is(storeUnreachable)
		hangs.Store(false)
		time.Sleep(pulseLost)
		is(storeOK)
	})
}
