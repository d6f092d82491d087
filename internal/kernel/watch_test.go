package kernel

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// faulty is a store that can be out of reach.
type faulty struct {
	Store
	away  atomic.Bool  // leases are not renewed
	slow  atomic.Bool  // that takes as long as they last
	loses atomic.Int64 // so many answers to appends are lost, after the fact if even
}

var errAway = fault.New(fault.StorageUnreachable, "nobody is there")

func (f *faulty) RenewAll(ctx context.Context, owner string, ttl time.Duration) ([]agent.Holding, error) {
	if f.away.Load() {
		return nil, errAway
	}
	if f.slow.Load() {
		time.Sleep(ttl)
	}
	return f.Store.RenewAll(context.WithoutCancel(ctx), owner, ttl)
}

func (f *faulty) Append(ctx context.Context, a id.Agent, c agent.Claim, drafts ...history.Draft) ([]history.Entry, error) {
	n := f.loses.Add(-1)
	if n < 0 {
		return f.Store.Append(ctx, a, c, drafts...)
	}
	if n%3 == 2 {
		return nil, errAway
	}
	entries, err := f.Store.Append(ctx, a, c, drafts...)
	if n%3 == 0 && err == nil {
		return entries, fault.New(fault.UnknownOutcome, "the answer was lost")
	}
	return entries, err
}

func blocking() (echo, chan struct{}) {
	started := make(chan struct{}, 10)
	return echo{name: "block", run: func(ctx context.Context, _ string) (tool.Answer, error) {
		started <- struct{}{}
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}}, started
}

// Who cannot renew its leases stops its turns before somebody else may have the agents.
func TestATurnWhoseLeaseCannotBeRenewedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block, started := blocking()
		b := newBench(t, `{"steps": [{"call": "block", "args": {}}]}`, block)
		f := &faulty{Store: b.store}
		b.Options.Store, b.Options.Lease = f, shortLease
		b.start()
		turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go"}))(t)
		<-started
		f.away.Store(true)
		if _, err := turn.Wait(); !fault.Is(err, fault.Interrupted) || !strings.Contains(err.Error(), "could not be renewed") {
			t.Errorf("the turn ended with %v", err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.seen {
			if e.Type == loop.Note && strings.Contains(e.Text, "could not be renewed") {
				return
			}
		}
		t.Error("nobody was told")
	})
}

// A renewal that takes long is none that failed.
func TestASlowRenewalDoesNotStopATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block, started := blocking()
		b := newBench(t, `{"steps": [{"call": "block", "args": {}}]}`, block)
		f := &faulty{Store: b.store}
		b.Options.Store, b.Options.Lease = f, shortLease
		b.start()
		f.slow.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		turn := testkit.Must(b.kernel.Exec(ctx, b.zero.ID, Prompt{Text: "go"}))(t)
		<-started
		time.Sleep(shortLease + shortLease/3)
		synctest.Wait()
		select {
		case <-turn.job.done:
			t.Errorf("the turn ended with %v", turn.job.result.err)
		default:
		}
		cancel()
		turn.Wait()
	})
}

// Whatever is lost of the answers to a turn's writing, it stands in the history once.
func TestWhatIsWrittenInSpiteOfLostAnswersIsThereOnce(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "I answer"}]}`)
	f := &faulty{Store: b.store}
	b.Options.Store = f
	b.start()
	f.loses.Store(3)
	if outcome, err := b.exec(b.zero.ID, "go"); err != nil || outcome.Text != "I answer" {
		t.Fatalf("%+v %v", outcome, err)
	}
	if f.loses.Load() > 0 {
		t.Fatal("nothing was lost: the test shows nothing")
	}
	said := strings.Join(b.history(b.zero.ID), "\n")
	if strings.Count(said, "user go") != 1 || strings.Count(said, "assistant I answer") != 1 {
		t.Error(said)
	}
}
