package kernel

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// A verb of a kernel that says it has succeeded has done all of it, whichever statement failed meanwhile.
func TestWhatSucceedsIsDoneAlthoughStatementsFail(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	var left atomic.Int64 // statements until one fails; not above 0: none does
	sqlite.Before = func(string) error {
		if left.Add(-1) == 0 {
			return storetest.ErrInjected
		}
		return nil
	}
	t.Cleanup(func() { sqlite.Before = nil })
	k, ctx := b.start(), t.Context()
	fork := func(name string) ([]agent.Agent, error) {
		return k.Fork(ctx, registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, StartLater)
	}
	other := testkit.Must(fork("other"))(t)
	to := other[0].ID
	for verb, one := range map[string]struct {
		do   func(n int) error
		done func(n int) bool
	}{
		"fork": {func(n int) error { _, err := fork(fmt.Sprint("child-", n)); return err },
			func(n int) bool { return b.named(fmt.Sprint("child-", n)).Parent == b.zero.ID }},
		"send": {func(n int) error {
			_, err := k.Send(ctx, registry.Send{From: b.zero.ID, To: to, Body: fmt.Sprint("letter ", n), Most: 1000})
			return err
		}, func(n int) bool { return slices.Contains(b.letters(to), fmt.Sprint("letter ", n)) }},
		"order": {func(n int) error {
			d, err := history.Say(history.Note, fmt.Sprint("note ", n))
			if err == nil {
				_, err = k.Order(ctx, to, d)
			}
			return err
		}, func(n int) bool { return slices.Contains(b.history(to), fmt.Sprint("note note ", n)) }},
		"kill": {func(n int) error {
			left.Store(0) // a child to kill is made without failures
			born, err := fork(fmt.Sprint("victim-", n))
			testkit.OK(t, err)
			left.Store(int64(n))
			_, err = k.Kill(ctx, registry.Kill{Agent: born[0].ID, Reason: "test"})
			return err
		}, func(n int) bool { return b.named(fmt.Sprint("victim-", n)).Status == agent.Dead }},
		"exec": {func(n int) error { _, err := b.exec(to, fmt.Sprint("prompt ", n)); return err },
			func(n int) bool {
				h := b.history(to)
				at := slices.Index(h, fmt.Sprint("user prompt ", n))
				return at >= 0 && slices.Contains(h[at:], "assistant done")
			}},
	} {
		for n := 1; n < 1000; n++ {
			left.Store(int64(n))
			err := one.do(n)
			more := left.Swap(0)
			if err == nil && !one.done(n) {
				t.Errorf("%s with a failure of statement %d succeeded without its effect", verb, n)
			}
			if more > 0 {
				if err != nil {
					t.Errorf("%s: %v", verb, err)
				}
				break
			}
		}
	}
}
