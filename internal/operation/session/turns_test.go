package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/model/offline"
	"ramet/internal/operation/control"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// startKernel starts a kernel with a scripted model that serves a workspace, as another process would.
func startKernel(t *testing.T, w *Workspace, gates *llmtest.ScriptGates) (*kernel.Kernel, *control.Server) {
	t.Helper()
	model, err := offline.ParseScript(`
{"when": "wait", "repeat": true, "steps": [{"wait": "gate"}]}
{"repeat": true, "steps": [{"text": "fine"}]}
`, gates.Wait)
	if err != nil {
		t.Fatal(err)
	}
	s, err := control.Listen(w.Peers)
	if err != nil {
		t.Fatal(err)
	}
	ref := llm.Ref{Vendor: "script", Name: "test"}
	k, err := kernel.Start(t.Context(), kernel.Options{Store: w.Store, Owner: s.Owner,
		Parts: kernel.Parts{
			Models: kernel.Models{Model: func(_ agent.Agent, asked llm.Ref) (kernel.Model, error) {
				if asked.Name == "none" {
					return kernel.Model{}, fault.New(fault.NotFound, "no such model")
				}
				return kernel.Model{Ref: ref, Info: llm.Model{Name: "test", Title: "Test"}, Provider: model}, nil
			}},
			Toolbox: kernel.Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return nil, nil }},
			Prompts: kernel.Prompts{System: func(agent.Agent) ([]llm.Message, error) { return kernel.System(), nil }},
		},
		Peers: kernel.Peers{Gone: w.Peers.Gone, Tell: func(context.Context, ...registry.Ring) {}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(k, &k.Events, nil)
	t.Cleanup(func() {
		k.Stop()
		s.Close()
	})
	return k, s
}

// A turn runs in our own kernel, or in the kernel that holds its agent. Whoever asks learns when it began, what it said
// and why it could not begin, and can stop it.
func TestTurnsRunHereAndElsewhere(t *testing.T) {
	ctx := t.Context()
	for _, there := range []bool{false, true} {
		w := open(t, nil)
		var gates llmtest.ScriptGates
		holder, server := startKernel(t, w, &gates)
		w.Kernel = holder
		if there {
			w.Kernel, _ = startKernel(t, w, &gates)
			if err := server.Announce(); err != nil {
				t.Fatal(err)
			}
		}
		a := child(t, w, "0", "ada")
		began := make(chan id.Agent, 100)
		seen, enough := holder.Events.Subscribe(ctx)
		go func() {
			for e := range seen {
				if e.Type == loop.TurnStarted {
					began <- e.Agent
				}
			}
		}()
		past := func() string {
			t.Helper()
			p, err := w.History().Page(ctx, a.ID, Span{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, e := range p.Entries {
				if e.Kind == history.User || e.Kind == history.Assistant || e.Kind == history.Interrupted {
					out += string(e.Kind) + " " + history.Plain(e.Parts) + ", "
				}
			}
			return out
		}
		ran, err := w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "one"}, Tasks: true, Said: func(loop.Outcome) error { return nil }})
		if err != nil || ran.Outcome.Text != "fine" || !ran.Began || !ran.Said || (ran.Turn == nil) != there {
			t.Errorf("there %t: %+v, %v", there, ran, err)
		}
		wrong := errors.New("nobody listens")
		if _, err := w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "two"}, Tasks: true, Here: true, Said: func(loop.Outcome) error { return wrong }}); !errors.Is(err, wrong) {
			t.Errorf("there %t: the answer was not told, %v", there, err)
		}
		if want := "user one, assistant fine, user two, assistant fine, "; past() != want {
			t.Errorf("there %t: %s, want %s", there, past(), want)
		}
		launched, err := w.Agents().Launch(ctx, ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "wait"}})
		if err != nil {
			t.Fatal(err)
		}
		for a.ID != testkit.Receive(t, "the turn begins", began) {
		}
		select {
		case <-launched.Done():
			t.Error("it is over before it is stopped")
		default:
		}
		if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: a.ID}); err != nil || !stopped {
			t.Errorf("there %t: stopped %t, %v", there, stopped, err)
		}
		<-launched.Done()
		if ran, err := launched.Ran(); !ran.Began || !fault.Is(err, fault.Interrupted) && !fault.Is(err, fault.Cancelled) {
			t.Errorf("there %t: %+v, %v", there, ran, err)
		}
		if n, err := w.Turns().Begin(ctx, a, kernel.Prompt{Text: "next"}, func(f func(context.Context)) { go f(ctx) }); err != nil || n == 0 {
			t.Errorf("there %t: the next turn is %d, %v", there, n, err)
		}
		testkit.WaitUntil(t, "the next turn ends", func() bool { return strings.Count(past(), "fine") == 3 })
		if got := past(); !strings.HasSuffix(got, "user wait, interrupted , user next, assistant fine, ") {
			t.Errorf("there %t: %s", there, got)
		}
		for verb, err := range map[string]error{
			"run":   failed(w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "x", Model: llm.Ref{Vendor: "script", Name: "none"}}})),
			"begin": failed(w.Turns().Begin(ctx, a, kernel.Prompt{Text: "x", Model: llm.Ref{Vendor: "script", Name: "none"}}, nil)),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("there %t: %s of a model that is not there: %v", there, verb, err)
			}
		}
		by := As(ctx, found(t, w, "ada").ID)
		for verb, err := range map[string]error{
			"run":    failed(w.Turns().Run(by, Turn{Agent: found(t, w, "0").ID})),
			"launch": failed(w.Agents().Launch(by, ctx, Turn{Agent: found(t, w, "0").ID})),
			"words":  failed(w.Turns().Begin(ctx, a, kernel.Prompt{Text: "\xff"}, nil)),
		} {
			if err == nil {
				t.Errorf("there %t: %s is not refused", there, verb)
			}
		}
		enough()
	}
}
