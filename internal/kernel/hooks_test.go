package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// heard lists the occasions that hooks of the kernel's own events were told of, and answers one event.
type heard struct {
	mu      sync.Mutex
	all     []string
	at      hook.Event
	verdict hook.Verdict
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.all
	h.all = nil
	return out
}

func (h *heard) answer(at hook.Event, v hook.Verdict) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.verdict = at, v
}

func (h *heard) hooks(a agent.Agent) loop.Hooks {
	own := []hook.Event{hook.SessionStart, hook.UserPromptSubmit, hook.SubagentStart, hook.Notification, hook.Fork, hook.Kill, hook.Mail, hook.Interrupted}
	return func(_ context.Context, o hook.Occasion) hook.Verdict {
		h.mu.Lock()
		defer h.mu.Unlock()
		if slices.Contains(own, o.Event) {
			h.all = append(h.all, fmt.Sprint(a.Label(), " ", o.Event, " ", o.About))
		}
		if o.Event == h.at {
			return h.verdict
		}
		return hook.Verdict{}
	}
}

// Hooks are told of what is about to happen before it does, and nothing that they object to happens. What they say to
// people is shown, what they say to the model and that they ran is in the history, without credentials.
func TestHooksOfWhatAgentsDo(t *testing.T) {
	ctx := history.By(t.Context(), history.Actor{Who: "ada", Face: history.CLI})
	ran := []history.Draft{{Kind: history.Note, Parts: []history.Part{{Type: history.Text, Text: "it ran"}}}}
	for _, v := range []hook.Verdict{{}, {Denied: true, Why: "no", From: "a file"}, {Halts: true, Why: "stop", From: "a file"}} {
		v.Context, v.Tell, v.Entries = "context sesame", []string{"told sesame"}, ran
		may := !v.Denied && !v.Halts
		b, h := newBench(t, `
{"when": "please fork", "steps": [{"call": "fork", "args": {"prompt": "task", "name": "kid"}}]}
{"when": "please send", "steps": [{"call": "send", "args": {"to": "friend", "text": "hello"}}]}
{"when": "please kill", "steps": [{"call": "kill", "args": {"agent": "friend"}}]}
{"repeat": true, "steps": [{"text": "fine"}]}
`), &heard{}
		b.Options.Clean = func(s string) string { return strings.ReplaceAll(s, "sesame", "[hidden]") }
		b.Options.Hooks = h.hooks
		b.start()
		b.child("friend")
		for _, c := range []struct {
			prompt     string
			event      hook.Event
			told, then string
			done       func() bool
		}{
			{"please talk", hook.UserPromptSubmit, "0 SessionStart startup, 0 UserPromptSubmit ", "", func() bool { return slices.Contains(b.history(b.zero.ID), "user please talk") }},
			{"please send", hook.Mail, "0 UserPromptSubmit , 0 Mail ", ", friend SubagentStart ", func() bool { return slices.Equal(b.letters(b.named("friend").ID), []string{"hello"}) }},
			{"please kill", hook.Kill, "0 UserPromptSubmit , 0 Kill ", "", func() bool { return b.named("friend").Status == agent.Dead }},
			{"please fork", hook.Fork, "0 UserPromptSubmit , 0 Fork ", ", kid SubagentStart ", func() bool { _, ok, _ := b.store.Named(ctx, "kid"); return ok }},
		} {
			h.answer(c.event, v)
			was := len(b.history(b.zero.ID))
			turn, err := b.kernel.Exec(ctx, b.zero.ID, Prompt{Text: c.prompt})
			if err == nil {
				_, err = turn.Wait()
			}
			if err == nil {
				err = turn.Tasks(ctx)
			}
			past := strings.Join(b.history(b.zero.ID)[was:], "\n")
			objection, words := fmt.Sprintf("a hook of %s did not let this happen: %s", c.event, v.Why), c.event == hook.UserPromptSubmit
			if words && fault.Is(err, fault.Denied) {
				past, err = past+err.Error(), nil
			}
			want := c.told
			if may {
				want += c.then
			}
			if told := strings.Join(h.take(), ", "); told != want {
				t.Errorf("hooks were told %q, want %q", told, want)
			}
			if err != nil || c.done() != may || strings.Contains(past, objection) == may || !strings.Contains(past, "note it ran") || strings.Contains(past, "[hook] context [hidden]") != (may && words) {
				t.Errorf("%s, allowed %t: done %t, %v, history\n%s", c.event, may, c.done(), err, past)
			}
		}
		b.kernel.Stop()
		b.mu.Lock()
		notes := 0
		for _, e := range b.seen {
			if e.Type == loop.Note && e.Text == "told [hidden]" {
				notes++
			}
		}
		b.mu.Unlock()
		if notes != 4 {
			t.Errorf("allowed %t: people were told %d times", may, notes)
		}
	}
}

// Hooks are told how a conversation with a person begins in a process, once, and of questions and interrupted turns.
func TestHooksOfConversations(t *testing.T) {
	b, h := newBench(t, `{"repeat": true, "steps": [{"text": "fine"}]}`), &heard{}
	b.Options.Hooks = h.hooks
	h.answer(hook.SessionStart, hook.Verdict{Context: "context"})
	b.start()
	run := func(p Prompt, want ...string) {
		t.Helper()
		turn, err := b.kernel.Exec(history.By(t.Context(), history.Actor{Who: "ada", Face: history.CLI}), b.zero.ID, p)
		if err == nil {
			_, err = turn.Wait()
		}
		if told := h.take(); err != nil || !slices.Equal(told, want) {
			t.Errorf("%q, want %q, %v", told, want, err)
		}
	}
	run(Prompt{Text: "one"}, "0 SessionStart startup", "0 UserPromptSubmit ")
	run(Prompt{Text: "two"}, "0 UserPromptSubmit ")
	for _, p := range []struct {
		fresh  bool
		source string
	}{{false, "resume"}, {true, "clear"}} {
		b.kernel.Stop()
		b.start()
		run(Prompt{Text: "again", Fresh: p.fresh}, "0 SessionStart "+p.source, "0 UserPromptSubmit ")
	}
	if past := b.history(b.zero.ID); !slices.Equal(past[len(past)-5:], []string{"clear", "notice [hook] context", "user again", "assistant fine", "usage"}) {
		t.Errorf("%q", past)
	}
	b.kernel.notifies(t.Context(), permit.Question{Agent: b.zero.ID, Tool: "bash"})
	b.kernel.notifies(t.Context(), permit.Question{Agent: b.zero.ID, Says: "which?"})
	b.kernel.notifies(t.Context(), permit.Question{Agent: "nobody"})
	b.kernel.Stop()
	told := h.take()
	slices.Sort(told)
	if !slices.Equal(told, []string{"0 Notification elicitation_dialog", "0 Notification permission_prompt"}) {
		t.Errorf("%q", told)
	}
}
