package kernel

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// remembered is the conversation of an agent in memory, whether it has something to do or not.
func (b *bench) remembered(a id.Agent) *loop.Conversation {
	b.kernel.mu.Lock()
	defer b.kernel.mu.Unlock()
	if p := b.kernel.live[a]; p != nil {
		return p.talk
	}
	if was := b.kernel.idle[a]; was != nil {
		return was.talk
	}
	return nil
}

// An agent that has nothing to do has no goroutine, and its tools are nobody's.
func TestAnIdleAgentHasNoGoroutine(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	const agents = 50
	gone := make(chan struct{}, agents)
	b.Options.Tools = func(agent.Agent) (tool.Box, error) {
		made := &echo{name: "echo"}
		runtime.AddCleanup(made, func(gone chan struct{}) { gone <- struct{}{} }, gone)
		return tool.Box{made}, nil
	}
	b.start()
	before := runtime.NumGoroutine()
	var children []registry.Child
	for range agents {
		children = append(children, registry.Child{ID: id.NewAgent()})
	}
	born := testkit.Must(b.kernel.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Children: children}, ""))(t)
	for _, c := range born {
		if o, err := b.exec(c.ID, "are you there?"); err != nil || o.Text != "here" {
			t.Fatalf("%+v %v", o, err)
		}
	}
	testkit.WaitUntil(t, "idle agents have no goroutines", func() bool { return runtime.NumGoroutine() < before+agents/2 })
	testkit.WaitUntil(t, "idle agents drop their tools", func() bool { runtime.GC(); return len(gone) > agents/2 })
	for _, c := range born {
		b.sameAsReplay(c.ID)
	}
}

// slowly is a store whose forks take as long as somebody wants.
type slowly struct {
	Store
	begun, free chan struct{}
}

func (s slowly) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	s.begun <- struct{}{}
	<-s.free
	return s.Store.Fork(ctx, f)
}

// A turn that begins while an idle agent is forked runs no tool before that is over.
func TestAForkOfAnIdleAgentHoldsTheBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan struct{}, 1)
		b := newBench(t, `{"when": "begin", "steps": [{"text": "I note it. "}, {"call": "note", "args": {"text": "x"}}]}
	{"repeat": true, "steps": [{"text": "here"}]}`, echo{name: "note", run: func(context.Context, string) (tool.Answer, error) {
			ran <- struct{}{}
			return tool.Answer{Text: "noted"}, nil
		}})
		slow := slowly{b.Options.Store, make(chan struct{}, 100), make(chan struct{})}
		b.Options.Store = slow
		b.start()
		forked := make(chan error, 1)
		go func() {
			_, err := b.kernel.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent()}}}, "")
			forked <- err
		}()
		<-slow.begun
		turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "begin"}))(t)
		synctest.Wait() // the model has been asked, and its call waits
		select {
		case <-ran:
			t.Error("a tool ran while its agent was forked")
		default:
		}
		close(slow.free)
		if err := <-forked; err != nil {
			t.Error(err)
		}
		testkit.Must(turn.Wait())(t)
	})
}

// The commands that an agent left running are seen for as long as they run, also when it rests.
func TestCommandsOfAnAgentThatRestsAreSeen(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	b.Options.Rest = time.Millisecond
	b.Options.Runners = func() []id.Agent { return []id.Agent{b.zero.ID} }
	b.Options.Background = func(id.Agent) []string { return []string{"1 npm run dev"} }
	b.start()
	testkit.Must(b.exec(b.zero.ID, "are you there?"))(t)
	testkit.WaitUntil(t, "it rests", func() bool { return b.remembered(b.zero.ID) == nil })
	if got := b.kernel.States()[b.zero.ID].Commands; got != "1 npm run dev" {
		t.Errorf("it runs %q", got)
	}
}

// A redaction takes content also out of the memory of agents that have nothing to do.
func TestIdleAgentsForget(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	b.start()
	testkit.Must(b.exec(b.zero.ID, "are you there?"))(t)
	testkit.WaitUntil(t, "it is idle", func() bool { return b.kernel.lookup(b.zero.ID) == nil })
	if b.remembered(b.zero.ID) == nil {
		t.Fatal("nothing is remembered")
	}
	b.kernel.Forget()
	if b.remembered(b.zero.ID) != nil {
		t.Error("what was taken away is remembered")
	}
	if o, err := b.exec(b.zero.ID, "are you still there?"); err != nil || o.Text != "here" {
		t.Errorf("%+v %v", o, err)
	}
	b.sameAsReplay(b.zero.ID)
}
