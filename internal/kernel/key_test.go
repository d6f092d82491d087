package kernel

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// needy is a bench whose model has a key only if a client lends one, or if one is stored.
func needy(t *testing.T) (b *bench, stored *atomic.Bool) {
	b = newBench(t, told+`{"when": "the user's word", "repeat": true, "steps": [{"text": "as you say"}]}
{"when": "do this", "repeat": true, "steps": [{"text": "done"}]}`)
	b.Resident, b.Pulse, stored = true, LeaseTTL/1000, new(atomic.Bool)
	open := b.Model
	b.Model = func(a agent.Agent, ref llm.Ref) (Model, error) {
		if e := b.kernel.EnvironmentOf(t.Context(), a); !stored.Load() && (e == nil || e.Get("X_API_KEY") == "") {
			return Model{}, fault.New(fault.ProviderAuth, "%w", &llm.MissingKey{Vendor: "x", Variable: "X_API_KEY"})
		}
		return open(a, ref)
	}
	b.start()
	b.wake(t)
	return b, stored
}

// wake sends agent 0 a letter and waits until it needs a key for its turn.
func (b *bench) wake(t *testing.T) {
	t.Helper()
	testkit.Must(b.kernel.Send(t.Context(), registry.Send{To: b.zero.ID, Body: "stand up"}))(t)
	b.until(t, "needs a key: X_API_KEY")
}

// until waits until agent 0 is in a state.
func (b *bench) until(t *testing.T, want string) {
	t.Helper()
	for t.Context().Err() == nil && b.kernel.States()[b.zero.ID].String() != want {
		time.Sleep(time.Millisecond)
	}
}

// answered counts the answers to the letter.
func (b *bench) answered(t *testing.T) int {
	t.Helper()
	testkit.OK(t, b.kernel.jobs.wait(t.Context()))
	return strings.Count(strings.Join(b.history(b.zero.ID), "\n"), "as you say")
}

var lending = &Environment{Variables: []string{"X_API_KEY=k"}}

// A client that resumes the agent with the key, one that prompts it, and a key that is stored let a woken turn begin, once.
func TestAKeyLetsAWokenTurnBegin(t *testing.T) {
	for name, come := range map[string]func(b *bench, stored *atomic.Bool) error{
		"lent":    func(b *bench, _ *atomic.Bool) error { b.kernel.Lend(b.zero.ID, lending); return nil },
		"stored":  func(_ *bench, stored *atomic.Bool) error { stored.Store(true); return nil },
		"resumed": func(b *bench, _ *atomic.Bool) error { return b.ask(Prompt{Again: true, Environment: lending}) },
		"prompted": func(b *bench, _ *atomic.Bool) error {
			return b.ask(Prompt{Text: "do this", Environment: lending})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, stored := needy(t)
			testkit.OK(t, come(b, stored))
			if n := b.answered(t); n != 1 {
				t.Errorf("it answered %d times:\n%s", n, strings.Join(b.history(b.zero.ID), "\n"))
			}
		})
	}
}

// ask asks for a turn of agent 0 and returns its error.
func (b *bench) ask(p Prompt) error {
	turn, err := b.kernel.Exec(context.Background(), b.zero.ID, p)
	if err == nil {
		_, err = turn.Wait()
	}
	return err
}

// A client without the key is refused, and the turn that waits goes on waiting. More letters make no more turns.
func TestAClientWithoutAKeyIsRefused(t *testing.T) {
	b, _ := needy(t)
	for _, p := range []Prompt{{Text: "do this"}, {Again: true}} {
		if err := b.ask(p); !fault.Is(err, fault.ProviderAuth) {
			t.Errorf("%+v: %v", p, err)
		}
		b.wake(t)
	}
	b.kernel.Lend(b.zero.ID, lending)
	if n := b.answered(t); n != 1 {
		t.Errorf("it answered %d times", n)
	}
}

// A turn that waits for its key can be stopped. The letter stays, and the next one wakes again.
func TestWaitingForAKeyIsStopped(t *testing.T) {
	b, _ := needy(t)
	if stopped, err := b.kernel.Interrupt(t.Context(), Stop{Agent: b.zero.ID}); !stopped || err != nil {
		t.Fatalf("%v %v", stopped, err)
	}
	if n := b.answered(t); n != 0 || b.kernel.States()[b.zero.ID].Word != "" {
		t.Errorf("%d answers, %s", n, b.kernel.States()[b.zero.ID])
	}
	if unread, err := b.store.Letters(t.Context(), b.zero.ID, mail.Filter{Unread: true}); err != nil || len(unread) != 1 {
		t.Errorf("unread %v %v", unread, err)
	}
	b.wake(t)
	if now := b.kernel.States()[b.zero.ID]; now.Word != state.NeedsKey || !now.Busy() {
		t.Errorf("it is %s", now)
	}
}
