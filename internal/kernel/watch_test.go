package kernel

import (
	"context"
	"slices"
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
	"ramet/internal/turn/hook"
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

// An order is written beside the process that holds the agent.
func TestAnOrderToAnAgentOfAnotherProcess(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	k := b.start()
	testkit.Must(b.store.Acquire(t.Context(), b.zero.ID, "elsewhere:1:b", time.Hour))(t)
	if e, err := k.Order(t.Context(), b.zero.ID, history.NewClear()); err != nil || e.Kind != history.Clear {
		t.Errorf("%+v, %v", e, err)
	}
}

// An append without an answer has happened only if the entry is there with the same hash.
func TestAnUnansweredAppendIsLookedUpByItsHash(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	k := b.start()
	held := testkit.Must(b.store.Acquire(t.Context(), b.zero.ID, k.Owner, time.Hour))(t)
	claim := agent.Held(k.Owner, held.Lease.Epoch)
	said := testkit.Must(history.Say(history.User, "hello"))(t)
	written := testkit.Must(b.store.Append(t.Context(), b.zero.ID, claim, said))(t)
	other, missing := written[0], written[0]
	other.Hash[0]++
	missing.ID++
	for _, c := range []struct {
		name  string
		entry history.Entry
		want  bool
	}{{"the entry", written[0], true}, {"another one with its number", other, false}, {"none with its number", missing, false}} {
		if got, err := k.recorded(t.Context(), claim, c.entry, time.Now()); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	testkit.OK(t, b.store.Release(t.Context(), b.zero.ID, k.Owner, held.Lease.Epoch))
}

// If even the reason why a task did not begin cannot be written, a note says so.
func TestAReasonThatCannotBeWrittenIsReported(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	f := &faulty{Store: b.store}
	b.Options.Store = f
	k := b.start()
	events, stop := k.Events.Subscribe(context.Background())
	defer stop()
	f.loses.Store(3)
	p := &agentProcess{kernel: k, id: b.zero.ID}
	p.regret(t.Context(), fault.New(fault.Failed, "there is no model"))
	k.Events.Publish(loop.Event{Type: loop.Note, Text: "end"})
	for e := range events {
		if e.Type != loop.Note || !strings.Contains(e.Text, "did not begin: ") || !strings.Contains(e.Text, errAway.Error()) {
			t.Errorf("%+v", e)
		}
		break
	}
}

// What a hook adds follows the entries that tell of the hook, without secrets.
func TestWhatAHookAddsIsDrafted(t *testing.T) {
	k := &Kernel{}
	p := &agentProcess{kernel: k}
	ran := history.NewClear()
	for _, c := range []struct {
		name, context string
		clean         func(string) string
		want          []string
	}{
		{"nothing", "", nil, nil},
		{"some words", "a secret", nil, []string{"[hook] a secret"}},
		{"a secret", "a secret", strings.ToUpper, []string{"[hook] A SECRET"}},
	} {
		k.Clean = c.clean
		var got []string
		drafts := p.adds(hook.Verdict{Context: c.context, Entries: []history.Draft{ran}})
		for _, d := range drafts[1:] {
			got = append(got, history.Plain(d.Parts))
		}
		if drafts[0].Kind != ran.Kind || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", c.name, drafts)
		}
	}
}
