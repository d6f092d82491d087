package kernel

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// An agent whose last turn it is ends with it, and so does everything below; the lease
// is gone with it.
func TestTheLastTurnOfAnAgent(t *testing.T) {
	b := newBench(t, `
{"when": "good", "steps": [{"text": "done"}]}
{"when": "bad", "steps": [{"error": "PROVIDER_AUTH", "message": "no"}]}
{"when": "child", "steps": [{"text": "I "}, {"wait": "never"}]}
`)
	k := b.start()
	for _, c := range []struct {
		prompt, reason string
		code           fault.Code
	}{{"good", "over: <nil>", ""}, {"bad", "over: script: no", fault.ProviderAuth}} {
		fork := func(parent id.Agent) agent.Agent {
			born := testkit.Must(k.Fork(t.Context(), registry.Fork{Parent: parent, Children: []registry.Child{{ID: id.NewAgent()}}}, ""))(t)
			return born[0]
		}
		a := fork(b.zero.ID)
		below := fork(a.ID)
		var child *Turn
		if c.code != "" {
			started, enough := k.Events.Subscribe(t.Context())
			child = testkit.Must(k.Exec(t.Context(), below.ID, Prompt{Text: "child"}))(t)
			for e := range started {
				if e.Agent == below.ID && e.Text == "I " {
					enough()
				}
			}
		}
		turn := testkit.Must(k.Exec(t.Context(), a.ID, Prompt{Text: c.prompt, Last: func(err error) string {
			if err == nil {
				return "over: <nil>"
			}
			return "over: " + err.Error()
		}}))(t)
		outcome, err := turn.Wait()
		if (err == nil) != (c.code == "") || err != nil && !fault.Is(err, c.code) || !outcome.Ended {
			t.Errorf("%s: %+v %v", c.prompt, outcome, err)
		}
		for _, one := range []id.Agent{a.ID, below.ID} {
			now, err := b.store.Agent(t.Context(), one)
			if err != nil || now.Status != agent.Dead || now.EndReason != c.reason || now.Lease.Owner != "" {
				t.Errorf("%s: %+v %v", c.prompt, now, err)
			}
			if k.lookup(one) != nil {
				t.Errorf("%s: %s still has a goroutine", c.prompt, one)
			}
		}
		if child != nil {
			if _, err := child.Wait(); !errors.Is(err, errKilled()) {
				t.Errorf("the child: %v", err)
			}
		}
		if turn, err := k.Exec(t.Context(), a.ID, Prompt{Text: "more"}); err == nil {
			if _, err = turn.Wait(); !fault.Is(err, fault.DeadAgent) {
				t.Errorf("the dead answers: %v", err)
			}
		}
	}
	if letters := b.letters(b.zero.ID); len(letters) != 0 {
		t.Errorf("nobody asked for %q", letters)
	}
}

func TestAnAgentIsOfferedWhatWasChosen(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"call": "fork", "args": {"prompt": "x"}}, {"call": "echo", "args": {"text": "one"}}]}`, echo{name: "echo"})
	b.Options.Limits.Steps = 1
	var all []string
	b.Options.Offer = func(a agent.Agent, box tool.Box) tool.Box {
		for _, t := range box {
			all = append(all, t.Spec().Name)
		}
		return box[:1]
	}
	b.start()
	if _, err := b.exec(b.zero.ID, "go"); !fault.Is(err, fault.BudgetExceeded) {
		t.Fatal(err)
	}
	if !slices.Contains(all, "fork") || all[0] != "echo" {
		t.Errorf("%v", all)
	}
	history := strings.Join(b.history(b.zero.ID), "\n")
	if !strings.Contains(history, `There is no tool "fork"`) || !strings.Contains(history, "tool_result one") {
		t.Error(history)
	}
}

// The background commands of an agent outlive its turns, and end with a task and with a turn that is stopped.
func TestCommandsEndWithATaskAndWithAStop(t *testing.T) {
	b := newBench(t, `
{"when": "talk", "steps": [{"text": "fine"}]}
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "task", "name": "kid"}}]}
{"when": "task", "steps": [{"text": "done"}]}
{"when": "long", "steps": [{"text": "I "}, {"wait": "never"}]}
{"repeat": true, "steps": [{"text": "well"}]}
`)
	ended := make(chan id.Agent, 9)
	b.Options.Abandon = func(a id.Agent) { ended <- a }
	b.start()
	was := func(what string, want ...id.Agent) {
		t.Helper()
		var got []id.Agent
		for len(ended) > 0 {
			got = append(got, <-ended)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: commands of %q ended, want %q", what, got, want)
		}
	}
	testkit.Must(b.exec(b.zero.ID, "talk"))(t)
	was("a turn")
	testkit.Must(b.exec(b.zero.ID, "divide"))(t)
	was("a task", b.named("kid").ID)
	said, enough := b.kernel.Events.Subscribe(t.Context())
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "long"}))(t)
	for e := range said {
		if e.Text == "I " {
			break
		}
	}
	enough()
	testkit.Must(b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID}))(t)
	turn.Wait()
	was("a stop", b.zero.ID)
}
