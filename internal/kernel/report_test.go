package kernel

import (
	"context"
	"sync/atomic"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// postal is a store that looks at the sender of each letter while it is delivered.
type postal struct {
	Store
	look func(registry.Send)
}

func (s postal) Send(ctx context.Context, l registry.Send) (mail.Letter, error) {
	out, err := s.Store.Send(ctx, l)
	s.look(l)
	return out, err
}

// Whoever has the report of a child may merge its work at once: the child is not "at work"
// while its letter already lies there, not even where somebody rings late for a letter that it
// has read.
func TestWhoHasReportedIsDone(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "do it", "name": "kid"}}]}
{"when": "do it", "steps": [{"text": "it is done"}]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
{"when": "it is done", "steps": [{"text": "good"}]}
`)
	var seen atomic.Pointer[state.State]
	b.Store = postal{b.store, func(l registry.Send) {
		if l.To != b.zero.ID {
			return
		}
		b.kernel.Ring(context.Background(), registry.Ring{Agent: id.Agent(l.From), What: registry.RingMail})
		now := b.kernel.States()[id.Agent(l.From)]
		seen.Store(&now)
	}}
	b.start()
	testkit.Must(b.exec(b.zero.ID, "divide"))(t)
	if now := seen.Load(); now == nil || now.Word != state.Done {
		t.Errorf("while the report is delivered the child is %v", now)
	}
}

// Whoever has read how a child ended, and ends its turn then, is not told that the child still
// works: however it ended.
func TestWhoHasReportedOwesNothing(t *testing.T) {
	for name, c := range map[string]struct{ does, says string }{
		"done":   {`{"text": "it is done"}`, "it is done"},
		"exited": {`{"call": "exit", "args": {"result": "it is done"}}`, "it is done"},
		"killed": {`{"text": "for ever"}, {"wait": "gate"}`, "was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "do it", "name": "kid"}}]}
{"when": "do it", "steps": [`+c.does+`]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
{"when": "`+c.says+`", "steps": [{"text": "good"}]}
`)
			var letters atomic.Int32
			b.Store = postal{b.store, func(l registry.Send) {
				if l.To != b.zero.ID {
					return
				}
				letters.Add(1)
				if work, _ := b.kernel.openNow(b.zero.ID); len(work) > 0 {
					t.Errorf("while the mail is delivered these still work: %v", work)
				}
			}}
			b.start()
			if name == "killed" {
				events, leave := b.kernel.Events.Subscribe(t.Context())
				go func() {
					defer leave()
					for e := range events {
						if e.Type != loop.TextDelta || e.Agent == b.zero.ID {
							continue
						}
						if _, err := b.kernel.Kill(t.Context(), registry.Kill{Agent: e.Agent, Reason: "enough"}); err != nil {
							t.Error(err)
						}
						return
					}
				}()
			}
			o, err := b.exec(b.zero.ID, "divide")
			if err != nil || o.Text != "good" || letters.Load() != 1 {
				t.Errorf("%+v %v, %d letters", o, err, letters.Load())
			}
		})
	}
}
