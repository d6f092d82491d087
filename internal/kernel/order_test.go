package kernel

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
)

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
