package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/kernel"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// startKernel starts a kernel with a scripted model that serves a workspace, as another process would.
func startKernel(t *testing.T, w *Workspace, gates *llmtest.ScriptGates) (*kernel.Kernel, *control.Server) {
	t.Helper()
	model := testkit.Must(llmtest.ParseScript(`
{"when": "stall", "repeat": true, "steps": [{"wait": "gate"}]}
{"repeat": true, "steps": [{"text": "fine"}]}
`, gates.Wait))(t)
	s := testkit.Must(control.Listen(w.Peers))(t)
	ref := llm.Ref{Vendor: "anthropic", Name: "test"}
	k := testkit.Must(kernel.Start(t.Context(), kernel.Options{Store: w.Store, Owner: s.Owner,
		Parts: kernel.Parts{
			Models: kernel.Models{Model: func(_ agent.Agent, asked llm.Ref) (kernel.Model, error) {
				if asked.Name == "none" {
					return kernel.Model{}, fault.New(fault.NotFound, "no such model")
				}
				return kernel.Model{Ref: ref, Info: llm.Model{Name: "test", Title: "Test", Context: 7}, Provider: model}, nil
			}},
			Toolbox: kernel.Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return nil, nil }},
			Prompts: kernel.Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
				return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
			}},
		},
		Peers: kernel.Peers{Gone: w.Peers.Gone, Answers: w.Peers.Answers, Tell: func(context.Context, ...registry.Ring) {}}}))(t)
	s.Serve(k, nil)
	t.Cleanup(func() {
		k.Stop()
		s.Close()
	})
	return k, s
}

// The caller of a turn learns when it began, what it said and why it could not begin, and can stop it.
func TestATurnIsRunAndStopped(t *testing.T) {
	ctx := t.Context()
	w := open(t, nil)
	var gates llmtest.ScriptGates
	holder, _ := startKernel(t, w, &gates)
	w.Kernel = holder
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
		p := testkit.Must(w.History().Page(ctx, a.ID, Span{Limit: 100}))(t)
		out := ""
		for _, e := range p.Entries {
			if e.Kind == history.User || e.Kind == history.Assistant || e.Kind == history.Interrupted {
				out += string(e.Kind) + " " + history.Plain(e.Parts) + ", "
			}
		}
		return out
	}
	ran, err := w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "one"}, Tasks: true, Said: func(loop.Outcome) error { return nil }})
	if err != nil || ran.Outcome.Text != "fine" || !ran.Began || !ran.Said || ran.Turn == nil {
		t.Errorf("%+v, %v", ran, err)
	}
	wrong := errors.New("nobody listens")
	if _, err := w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "two"}, Tasks: true, Said: func(loop.Outcome) error { return wrong }}); !errors.Is(err, wrong) {
		t.Errorf("the answer was not told, %v", err)
	}
	if want := "user one, assistant fine, user two, assistant fine, "; past() != want {
		t.Errorf("%s, want %s", past(), want)
	}
	launched := testkit.Must(w.Agents().Launch(ctx, ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "stall"}}))(t)
	for a.ID != testkit.Receive(t, "the turn begins", began) {
	}
	select {
	case <-launched.Done():
		t.Error("it is over before it is stopped")
	default:
	}
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: a.ID}); err != nil || !stopped {
		t.Errorf("stopped %t, %v", stopped, err)
	}
	<-launched.Done()
	if ran, err := launched.Ran(); !ran.Began || !fault.Is(err, fault.Interrupted) && !fault.Is(err, fault.Cancelled) {
		t.Errorf("%+v, %v", ran, err)
	}
	if n, err := w.Turns().Begin(ctx, a, kernel.Prompt{Text: "next"}); err != nil || n == 0 {
		t.Errorf("the next turn is %d, %v", n, err)
	}
	testkit.WaitUntil(t, "the next turn ends", func() bool { return strings.Count(past(), "fine") == 3 })
	if got := past(); !strings.HasSuffix(got, "user stall, interrupted , user next, assistant fine, ") {
		t.Errorf("%s", got)
	}
	for verb, err := range map[string]error{
		"run":   failed(w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "x", Model: llm.Ref{Vendor: "script", Name: "none"}}})),
		"begin": failed(w.Turns().Begin(ctx, a, kernel.Prompt{Text: "x", Model: llm.Ref{Vendor: "script", Name: "none"}})),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of a model that is not there: %v", verb, err)
		}
	}
	by := As(ctx, found(t, w, "ada").ID)
	for verb, err := range map[string]error{
		"run":    failed(w.Turns().Run(by, Turn{Agent: found(t, w, "0").ID})),
		"launch": failed(w.Agents().Launch(by, ctx, Turn{Agent: found(t, w, "0").ID})),
		"words":  failed(w.Turns().Begin(ctx, a, kernel.Prompt{Text: "\xff"})),
	} {
		if err == nil {
			t.Errorf("%s is not refused", verb)
		}
	}
	enough()
}

// A turn waits for another kernel that has its agent, and a stop reaches that kernel.
func TestATurnWaitsForAnotherKernel(t *testing.T) {
	ctx := t.Context()
	w := open(t, nil)
	var gates llmtest.ScriptGates
	holder, _ := startKernel(t, w, &gates)
	w.Kernel, _ = startKernel(t, w, &gates)
	a := child(t, w, "0", "ada")
	began := make(chan struct{}, 100)
	seen, enough := holder.Events.Subscribe(ctx)
	defer enough()
	go func() {
		for e := range seen {
			if e.Type == loop.TurnStarted {
				began <- struct{}{}
			}
		}
	}()
	stall := func() *kernel.Turn {
		t.Helper()
		turn := testkit.Must(holder.Exec(ctx, a.ID, kernel.Prompt{Text: "stall"}))(t)
		testkit.Receive(t, "the turn begins", began)
		return turn
	}
	first := stall()
	// What a person decides, sends and forks meanwhile is written beside it.
	testkit.OK(t, w.Models().SetEffort(ctx, a, "high"))
	testkit.Must(w.Mail().Send(ctx, Letter{From: &a, To: found(t, w, "0"), Body: "hello"}))(t)
	testkit.Must(w.Agents().Fork(ctx, Fork{Parent: found(t, w, "ada"), Name: "kid"}))(t)
	waits, enough := w.Kernel.Events.Subscribe(ctx)
	defer enough()
	done := make(chan error, 1)
	go func() { done <- failed(w.Turns().Run(ctx, Turn{Agent: a.ID, Prompt: kernel.Prompt{Text: "next"}})) }()
	for e := range waits {
		if e.Type == loop.Waiting {
			break
		}
	}
	if now, err := w.Agents().State(ctx, a); err != nil || now.Detail != state.Thinks {
		t.Errorf("it is %v, %v", now, err)
	}
	testkit.Must(holder.Interrupt(ctx, kernel.Stop{Agent: a.ID}))(t)
	first.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	second := stall()
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: a.ID}); err != nil || !stopped {
		t.Errorf("stopped %t, %v", stopped, err)
	}
	if _, err := second.Wait(); !fault.Is(err, fault.Interrupted) && !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: a.ID}); err != nil || stopped {
		t.Errorf("stopped %t, %v", stopped, err)
	}
}

// TestEverythingThatWasInterruptedContinues checks that interrupted turns continue, children before their parents, and
// that agents of runs are left to their runs.
func TestEverythingThatWasInterruptedContinues(t *testing.T) {
	w, ctx := open(t, nil), t.Context()
	dead := deadOwner(t, w)
	for _, pair := range [][2]string{{"0", "ada"}, {"ada", "kid"}, {"0", "bob"}, {"bob", "lone"}, {"0", RunName + "1"}, {RunName + "1", "item"}} {
		child(t, w, pair[0], pair[1])
	}
	for _, name := range []string{"ada", "kid", "lone", RunName + "1", "item"} {
		a := found(t, w, name)
		testkit.Must(w.History().Append(ctx, a, history.User, "go"))(t)
		testkit.Must(w.Store.Acquire(ctx, a.ID, dead, time.Hour))(t)
	}
	w.Kernel, _ = startKernel(t, w, &llmtest.ScriptGates{})
	all, err := w.Turns().ContinueAll(ctx, nil)
	testkit.OK(t, err)
	got := ""
	for _, c := range all {
		o, err := c.Wait(ctx)
		if err != nil {
			t.Errorf("%s: %v", c.Agent.Label(), err)
		}
		got += fmt.Sprintf("%s %t %s, ", c.Agent.Label(), c.Alone, o.Text)
	}
	if want := "kid false fine, lone true fine, ada true fine, "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := (Continued{err: fault.New(fault.Leased, "held")}).Wait(ctx); !fault.Is(err, fault.Leased) {
		t.Error(err)
	}
}

// A model is shown with the reason why it is the one in use. Servers that no setting names are looked for.
func TestWhyAModelIsUsed(t *testing.T) {
	w, ctx := open(t, nil), t.Context()
	env := map[string]string{"ANTHROPIC_API_KEY": "sesame-sesame"}
	keys := testkit.Must(credential.Open(func(name string) string { return env[name] }, w.Home))(t)
	w.Keys = keys
	w.Kernel, _ = startKernel(t, w, &llmtest.ScriptGates{})
	zero := found(t, w, "0")
	own := zero
	own.Provider, own.Model = "anthropic", "test"
	why := func(a agent.Agent, asked llm.Ref, want string) {
		t.Helper()
		if m, err := w.Models().Model(a, asked); err != nil || m.Why != want || m.Ref.Name != "test" || m.Title != "Test" || m.Context != 7 || m.BuiltIn {
			t.Errorf("%+v, %v, want %q", m, err, want)
		}
	}
	why(zero, llm.Ref{Name: "test"}, "chosen with /model")
	why(own, llm.Ref{}, "the agent's own")
	why(zero, llm.Ref{}, "because of ANTHROPIC_API_KEY")
	delete(env, "ANTHROPIC_API_KEY")
	why(zero, llm.Ref{}, "the first that has a key")
	w.Config.Model = "anthropic/test"
	why(zero, llm.Ref{}, "set in your configuration")
	if _, err := w.Models().Model(zero, llm.Ref{Name: "none"}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if found := w.Models().Found(ctx); found != nil {
		t.Errorf("nobody looks, and %v is found", found)
	}
	env["VLLM_BASE_URL"] = "http://127.0.0.1:1/v1"
	w.system.Find = func(_ context.Context, unnamed []catalog.Vendor) map[string][]string {
		out := map[string][]string{}
		for _, v := range unnamed {
			if v.Name != "ollama" && v.Name != "llamacpp" && v.Name != "lmstudio" {
				t.Errorf("%s is looked for", v.Name)
			}
		}
		out["ollama"] = []string{"tiny"}
		return out
	}
	if got := fmt.Sprint(w.Models().Found(ctx)); got != "[{ollama/tiny Ollama 0  false}]" {
		t.Errorf("found %s", got)
	}
	w.Secrets, w.credentials = secret.New(nil), func() map[string]string { return map[string]string{"KEY": "sesame-sesame"} }
	if err := w.Models().KeysChanged(); err != nil || strings.Contains(w.Secrets.Own("a sesame-sesame"), "sesame") {
		t.Errorf("a new key is not hidden: %v", err)
	}
}

// Errors repeat neither passwords of databases nor keys.
func TestErrorsHideCredentials(t *testing.T) {
	s := New(System{Getenv: func(string) string { return "" }}, Choice{DB: "postgres://me:sesame@host/db"})
	for _, err := range []error{errors.New("no way to sesame"), fault.New(fault.Leased, "no way to sesame").WithHint("try sesame")} {
		hidden := s.Hide(err)
		f, _ := fault.Of(hidden)
		if f == nil || strings.Contains(fmt.Sprintf("%v %+v %v", hidden, f.Hint, f.Err), "sesame") || !strings.Contains(hidden.Error(), "no way to ****") || f.Code != fault.CodeOf(err) {
			t.Errorf("%v becomes %v", err, hidden)
		}
	}
	if other := errors.New("another"); s.Hide(other) != other {
		t.Error("an error without credentials is changed")
	}
}
