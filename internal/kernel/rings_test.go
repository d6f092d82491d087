package kernel

import (
	"context"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// A cascade that another process carried out is told once for the whole subtree.
func TestOneLetterTellsOfASubtreeThatOthersKilled(t *testing.T) {
	var running sync.WaitGroup
	block := echo{name: "block", run: func(ctx context.Context, _ string) (tool.Answer, error) {
		running.Done()
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}}
	b := newBench(t, `
{"when": "begin", "steps": [{"call": "fork", "args": {"prompt": "task A", "name": "a"}}]}
{"when": "task A", "steps": [{"call": "fork", "args": {"prompt": "task B", "name": "b"}}]}
{"when": "task B", "steps": [{"call": "block", "args": {}}]}
{"when": "works on", "repeat": true, "steps": [{"call": "block", "args": {}}]}
`, block)
	k := b.start()
	running.Add(3)
	turn := testkit.Must(k.Exec(t.Context(), b.zero.ID, Prompt{Text: "begin"}))(t)
	running.Wait()
	done, err := b.store.Kill(t.Context(), registry.Kill{Agent: b.named("a").ID, Cascade: true, Reason: "enough"})
	if err != nil || len(done.Victims) != 2 {
		t.Fatalf("%+v %v", done, err)
	}
	for _, v := range done.Victims {
		k.Ring(t.Context(), registry.Ring{Agent: v.ID, What: registry.RingKilled})
	}
	if got := b.letters(b.zero.ID); len(got) != 1 || !strings.Contains(got[0], "was killed: enough") {
		t.Errorf("letters %q", got)
	}
	testkit.Must(k.Interrupt(t.Context(), Stop{Agent: b.zero.ID}))(t)
	if _, err := turn.Wait(); !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
}

// Mending and a turn of one kernel would hold one lease.
func TestATurnWaitsUntilItsAgentIsMended(t *testing.T) {
	b := newBench(t, `{"steps": [{"text": "I go on"}]}`)
	k := b.start()
	done, ok := k.mend(b.zero.ID)
	if !ok {
		t.Fatal("nobody is at it")
	}
	if _, ok := k.mend(b.zero.ID); ok {
		t.Error("mended twice at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	turn := testkit.Must(k.Exec(ctx, b.zero.ID, Prompt{Text: "impatient"}))(t)
	cancel()
	if _, err := turn.Wait(); !fault.Is(err, fault.Cancelled) {
		t.Errorf("it did not wait: %v", err)
	}
	b.expect(b.zero.ID, "fork")
	turn = testkit.Must(k.Exec(t.Context(), b.zero.ID, Prompt{Text: "patient"}))(t)
	k.mu.Lock()
	over := k.mending[b.zero.ID]
	k.mu.Unlock()
	done()
	select {
	case <-over:
	default:
		t.Error("a turn that waits would wait forever")
	}
	if outcome, err := turn.Wait(); err != nil || outcome.Text != "I go on" {
		t.Errorf("%+v %v", outcome, err)
	}
	if done, ok := k.mend(b.zero.ID); !ok {
		t.Error("nobody is at it any more")
	} else {
		done()
	}
}
