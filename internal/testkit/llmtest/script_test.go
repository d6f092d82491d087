package llmtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

func askScript(t *testing.T, m *Script, text string) (llm.Message, llm.Usage, llm.Finish, error) {
	t.Helper()
	return llm.Collect(m.Stream(t.Context(), llm.Request{Model: "x", Messages: []llm.Message{llm.Say(llm.User, text)}}))
}

func parseScript(t *testing.T, text string, gate Gate) *Script {
	t.Helper()
	m := testkit.Must(ParseScript(text, gate))(t)
	return m
}

func TestItSaysWhatTheFileSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.script")
	text := `# first reply
{"steps": [{"thinking": "hm"}, {"thinking": ".", "signature": "sig"}, {"text": "I "}, {"text": "look."}, {"call": "read", "args": {"path": "a"}}, {"call": "list", "id": "mine"}, {"usage": {"input": 3, "output": 4}}]}

{"steps": [{"text": "cut off"}, {"finish": "length"}]}
{"steps": [{"call": "read", "raw": "{\"pa"}]}
`
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	m := testkit.Must(ReadScript(path, nil))(t)
	got, usage, finish, err := askScript(t, m, "hi")
	if err != nil || finish.Reason != llm.ToolCalls || usage.Total() != 7 || got.Text() != "I look." || len(got.Parts) != 4 {
		t.Fatalf("%+v %+v %+v %v", got, usage, finish, err)
	}
	if th := got.Parts[0]; th.Text != "hm." || th.Signature != "sig" || th.Origin != ScriptOrigin {
		t.Errorf("%+v", th)
	}
	if calls := got.Calls(); calls[0].CallID != "call_1" || calls[1].CallID != "mine" || string(calls[0].Args) != `{"path": "a"}` {
		t.Errorf("%+v", calls)
	}
	if _, _, finish, err = askScript(t, m, "hi"); err != nil || finish.Reason != llm.Length {
		t.Errorf("%+v %v", finish, err)
	}
	if got, _, _, err = askScript(t, m, "hi"); err != nil || got.Calls()[0].Malformed != `{"pa` {
		t.Errorf("%+v %v", got, err)
	}
	if m.Left() != 0 {
		t.Error("something is left")
	}
	if _, _, _, err = askScript(t, m, "hi"); !fault.Is(err, fault.ProviderBadRequest) {
		t.Errorf("at the end: %v", err)
	}
}

func TestItFailsAsTheFileSays(t *testing.T) {
	m := parseScript(t, `{"steps": [{"text": "so"}, {"error": "PROVIDER_RATE_LIMIT", "message": "slow", "again": true, "after_ms": 5}]}
{"steps": [{"call": "rm"}, {"cut": true}]}`, nil)
	if got, _, _, err := askScript(t, m, "hi"); !fault.Is(err, fault.ProviderRateLimit) || got.Text() != "so" {
		t.Errorf("%+v %v", got, err)
	}
	if got, _, _, err := askScript(t, m, "hi"); !fault.Is(err, fault.StreamCut) || len(got.Calls()) > 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestRepliesFitRequests(t *testing.T) {
	m := parseScript(t, `{"when": "weather", "steps": [{"text": "rain"}]}
{"when": "ping", "repeat": true, "steps": [{"text": "pong"}]}
{"steps": [{"text": "else"}]}`, nil)
	for _, c := range [][2]string{{"ping", "pong"}, {"ping", "pong"}, {"hello", "else"}, {"the weather?", "rain"}} {
		if got, _, _, err := askScript(t, m, c[0]); err != nil || got.Text() != c[1] {
			t.Errorf("%s: %q %v", c[0], got.Text(), err)
		}
	}
}

func TestAGateIsWaitedFor(t *testing.T) {
	var gates ScriptGates
	m := parseScript(t, `{"repeat": true, "steps": [{"text": "a"}, {"wait": "go"}, {"text": "b"}]}`, gates.Wait)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last llm.Event
	for e := range m.Stream(ctx, llm.Request{}) {
		if last = e; e.Type == llm.TextDelta {
			cancel() // it waits from here on
		}
	}
	if !fault.Is(last.Err, fault.Cancelled) {
		t.Errorf("%+v", last)
	}
	for e := range m.Stream(t.Context(), llm.Request{}) {
		if last = e; e.Type == llm.TextDelta && e.Text == "a" {
			gates.Open("go")
			gates.Open("go")
		}
	}
	if last.Type != llm.Finished {
		t.Errorf("%+v", last)
	}
}

func TestAPipeIsAGate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cancel()
	if err := WaitForPipe(ctx, path); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	done := make(chan error)
	go func() { done <- WaitForPipe(t.Context(), path) }()
	testkit.OK(t, os.WriteFile(path, []byte("x"), 0))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := WaitForPipe(t.Context(), path+"x"); err == nil {
		t.Error("a pipe that is not there is open")
	}
}

func TestABadScriptSaysWhere(t *testing.T) {
	for _, text := range []string{"{}\n{", `{"stpes": []}`, `{"steps": [{"txt": "a"}]}`} {
		if _, err := ParseScript(text, nil); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ReadScript("not-there", nil); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
