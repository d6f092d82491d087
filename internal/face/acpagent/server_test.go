package acpagent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/face/httpapi"
	"ramet/internal/operation/session"
	"ramet/internal/testkit"
	"ramet/internal/testkit/facetest"
	"ramet/internal/turn/permit"
)

// office is a home and an editor that is connected to it.
type office struct {
	*facetest.Home
	*facetest.Editor
	t      *testing.T
	ws     *session.Workspace
	served <-chan struct{} // closed when the server has ended
}

// open connects an editor to a home. shared is a workspace whose kernel stays; nil: each server has one of its own.
func open(t *testing.T, h *facetest.Home, shared *session.Workspace) *office {
	t.Helper()
	o := &office{Home: h, t: t, ws: shared}
	s := New(Options{Version: "1.2.3", User: "me", Dir: h.Dir,
		Place: func(dir string) (string, error) {
			p, err := h.Session(dir).Place()
			return p.DB, err
		},
		Open: func(_ context.Context, _ string, k session.Kernel) (*session.Workspace, bool, func(), error) {
			if shared == nil {
				o.ws = h.Open(k)
				return o.ws, false, o.ws.Stopped, nil
			}
			return shared, true, func() {}, nil
		}})
	in, write := io.Pipe()
	read, out := io.Pipe()
	served := make(chan struct{})
	o.served = served
	go func() {
		defer close(served)
		defer out.Close()
		if err := s.Serve(context.Background(), in, out); err != nil {
			t.Error(err)
		}
	}()
	o.Editor = facetest.Connect(t, write, read)
	t.Cleanup(func() {
		write.Close()
		<-served
	})
	return o
}

// greeted is an editor of a new home whose user permits everything once.
func greeted(t *testing.T) *office {
	t.Helper()
	o := open(t, facetest.New(t), nil)
	o.Greet()
	o.Choose = func(sdk.RequestPermissionRequest) string { return "once" }
	return o
}

func (o *office) begin(lines ...string) sdk.SessionId { return o.Begin(o.Dir, o.Script(lines...)) }

// entries returns what the agent of a session stored, and checks that every call has one result.
func (o *office) entries(s sdk.SessionId) []session.Entry {
	o.t.Helper()
	p := testkit.Must(o.ws.History().Page(o.t.Context(), id.Agent(s), session.Span{Limit: 500}))(o.t)
	calls := map[string]int{}
	for _, e := range p.Entries {
		for _, part := range e.Parts {
			switch part.Type {
			case history.ToolCall:
				calls[part.CallID]++
			case history.Result:
				calls[part.CallID]--
			}
		}
	}
	for call, open := range calls {
		if open != 0 {
			o.t.Errorf("call %s has %d results too few", call, open)
		}
	}
	return p.Entries
}

func TestInitialize(t *testing.T) {
	o := open(t, facetest.New(t), nil)
	hi := testkit.Must(o.Initialize(o.Ctx, sdk.InitializeRequest{ProtocolVersion: 99}))(t)
	can := hi.AgentCapabilities
	if hi.ProtocolVersion != 1 || hi.AgentInfo.Name != "ramet" || !can.LoadSession || !can.PromptCapabilities.Image || can.SessionCapabilities.Fork == nil ||
		can.SessionCapabilities.List == nil || can.SessionCapabilities.Resume == nil || can.SessionCapabilities.Close == nil {
		t.Errorf("it says of itself %+v", hi)
	}
}

func TestATurnIsTold(t *testing.T) {
	o := greeted(t)
	one := o.begin(`{"steps": [{"thinking": "hm"}, {"text": "hello "}, {"text": "there"}, {"usage": {"input": 10, "output": 3}}]}`,
		`{"when": "plan it", "steps": [{"call": "plan", "args": {"steps": [{"step": "look", "state": "done"}, {"step": "mend", "state": "doing"}, {"step": "rest", "state": "open"}]}}]}`,
		`{"steps": [{"text": "planned"}]}`)
	r, err := o.Prompt(o.Ctx, facetest.Ask(one, "say hello"))
	if err != nil || r.StopReason != sdk.StopReasonEndTurn || r.Usage == nil || r.Usage.OutputTokens != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	o.InOrder(one, 0, "thought: hm", "agent: hello there")
	if n := strings.Count(strings.Join(o.Heard(one), "\n"), "hello"); n != 1 {
		t.Errorf("told %d times: %q", n, o.Heard(one))
	}
	o.Say(one, "plan it", sdk.StopReasonEndTurn)
	o.InOrder(one, 0, "plan: completed look in_progress mend pending rest", "agent: planned")

	// Every part of what an editor's user says reaches the agent.
	two := o.begin(`{"when": "The editor shows file:///x.go", "steps": [{"text": "seen"}]}`)
	testkit.Must(o.Prompt(o.Ctx, sdk.PromptRequest{SessionId: two, Prompt: []sdk.ContentBlock{sdk.TextBlock("look at "), sdk.ResourceLinkBlock("y z.go", "file:///y%20z%C3%BC.go#L2:7"),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///x.go", Text: "package x"}})}}))(t)
	o.InOrder(two, 0, "agent: seen")
	if !slices.ContainsFunc(o.entries(two), func(e session.Entry) bool {
		said := history.Plain(e.Parts)
		return e.Kind == history.User && strings.Contains(said, "look at /y zü.go#L2:7") && strings.Contains(said, "package x")
	}) {
		t.Error("the prompt is not in the history")
	}
}

func TestTheUserIsAsked(t *testing.T) {
	o := greeted(t)
	file := filepath.Join(o.Dir, "a.txt")
	testkit.WriteFile(t, file, "old\n")
	o.Choose = func(r sdk.RequestPermissionRequest) string {
		for word, answer := range map[string]string{"refused": "no", "stopped": "because"} {
			if strings.Contains(*r.ToolCall.Title, word) {
				return answer
			}
		}
		return "once"
	}
	one := o.begin(`{"steps": [{"call": "read", "args": {"path": "a.txt"}}]}`,
		`{"steps": [{"call": "edit", "id": "e1", "args": {"path": "a.txt", "old_string": "old", "new_string": "new"}}]}`,
		`{"steps": [{"call": "bash", "id": "b1", "args": {"command": "touch refused"}}]}`,
		`{"steps": [{"text": "done"}]}`,
		`{"steps": [{"call": "bash", "id": "b2", "args": {"command": "touch stopped"}}]}`,
		`{"steps": [{"text": "not reached"}]}`)
	o.Say(one, "go", sdk.StopReasonEndTurn)
	o.InOrder(one, 0, "call e1 edit pending: edit a.txt [a.txt: old => new]", "call e1 completed", "call b1 execute pending: touch refused", "call b1 failed", "agent: done")
	if text, err := os.ReadFile(file); err != nil || string(text) != "new\n" {
		t.Errorf("%q %v", text, err)
	}
	asked := o.Asked()
	if len(asked) != 2 || asked[0].ToolCall.ToolCallId != "e1" {
		t.Fatalf("asked %+v", asked)
	}
	var kinds []string
	for _, o := range asked[1].Options {
		kinds = append(kinds, string(o.OptionId)+" "+string(o.Kind))
	}
	if want := "once allow_once, agent allow_always, project allow_always, no reject_once, because reject_once"; strings.Join(kinds, ", ") != want {
		t.Errorf("the choices are %q, want %q", kinds, want)
	}
	o.Say(one, "again", sdk.StopReasonCancelled) // a no with words to come ends the turn
	if len(o.Ran) != 0 {
		t.Error("what was refused ran")
	}
	if !slices.ContainsFunc(o.entries(one), func(e session.Entry) bool {
		p := e.About.Permission
		return p != nil && p.Actor != nil && *p.Actor == history.Actor{Who: "me", Face: history.ACP}
	}) {
		t.Error("the history does not say who answered")
	}
}

func TestCancelLeavesNothingRunning(t *testing.T) {
	o := greeted(t)
	one := o.begin(`{"steps": [{"call": "bash", "id": "b1", "args": {"command": "sleep 777"}}]}`, `{"steps": [{"text": "after"}]}`)
	over := o.Saying(one, "sleep", sdk.StopReasonCancelled)
	o.Until(one, "call b1 in_progress")
	testkit.Receive(t, "the command begins", o.Began)
	testkit.OK(t, o.Cancel(o.Ctx, sdk.CancelNotification{SessionId: one}))
	<-over
	if len(o.Ran) != 1 {
		t.Error("the command runs after the cancel was answered")
	}
	o.Say(one, "and now", sdk.StopReasonEndTurn)
	o.InOrder(one, 0, "call b1 failed", "agent: after")

	// A cancel that is sent with the prompt finds it.
	two := o.begin(`{"repeat": true, "steps": [{"text": "x"}, {"wait": "never"}]}`)
	prompt := `{"jsonrpc":"2.0","id":"%s","method":"session/prompt","params":{"sessionId":"` + string(two) + `","prompt":[{"type":"text","text":"go"}]}}` + "\n"
	testkit.Must(fmt.Fprintf(o.In, prompt+`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"`+string(two)+`"}}`+"\n", "p"))(t)
	o.Frame(`"id":"p","result":{"stopReason":"cancelled"`)

	// So does one of the request itself.
	testkit.Must(fmt.Fprintf(o.In, prompt+`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}`+"\n", "q"))(t)
	o.Frame(`"id":"q","result":{"stopReason":"cancelled"`)
}

func TestSessionsAreAgents(t *testing.T) {
	o := greeted(t)
	model := o.Script(`{"steps": [{"text": "one"}, {"call": "bash", "id": "b1", "args": {"command": "echo hi"}}]}`, `{"steps": [{"text": "two"}]}`,
		`{"when": "wait again", "steps": [{"text": "half a word "}, {"wait": "never"}]}`, `{"repeat": true, "steps": [{"text": "more"}]}`)
	one := o.Begin(o.Dir, model)
	o.Say(one, "first words", sdk.StopReasonEndTurn)
	fork, err := o.UnstableForkSession(o.Ctx, sdk.UnstableForkSessionRequest{SessionId: one, Cwd: o.Dir})
	if err != nil || fork.SessionId == one || fork.Modes == nil || fork.Models == nil {
		t.Fatalf("%+v %v", fork, err)
	}
	o.Say(fork.SessionId, "in the fork", sdk.StopReasonEndTurn)
	testkit.Must(o.SetSessionMode(o.Ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "read-only"}))(t)
	o.Until(one, "mode: read-only")
	agent := testkit.Must(o.ws.Find(t.Context(), string(one)))(t)
	if now, err := o.ws.Turns().Standing(t.Context(), agent); err != nil || now.Mode != permit.ReadOnly {
		t.Errorf("the mode is %v, %v", now, err)
	}
	set, err := o.SetSessionConfigOption(o.Ctx, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: one, ConfigId: "effort", Value: "high"}})
	if err != nil || !slices.ContainsFunc(set.ConfigOptions, func(o sdk.SessionConfigOption) bool {
		return o.Select != nil && o.Select.Id == "effort" && o.Select.CurrentValue == "high"
	}) {
		t.Errorf("%+v %v", set, err)
	}

	list := testkit.Must(o.ListSessions(o.Ctx, sdk.ListSessionsRequest{Cwd: &o.Dir}))(t)
	titles := map[sdk.SessionId]string{}
	for _, s := range list.Sessions {
		titles[s.SessionId] = *s.Title
		if s.Cwd != o.Dir || s.UpdatedAt == nil {
			t.Errorf("%+v", s)
		}
	}
	if len(list.Sessions) != 3 || titles[one] != "first words" || titles[fork.SessionId] != "in the fork" {
		t.Errorf("listed are %v", titles) // agent 0 too
	}

	testkit.Must(o.CloseSession(o.Ctx, sdk.CloseSessionRequest{SessionId: one}))(t)
	if _, err := o.Prompt(o.Ctx, facetest.Ask(one, "x")); facetest.Code(err) != -32002 {
		t.Errorf("a session that was closed: %v", err)
	}
	before, past := len(o.Heard(one)), len(o.entries(one))
	testkit.Must(o.ResumeSession(o.Ctx, sdk.ResumeSessionRequest{SessionId: one, Cwd: o.Dir}))(t)
	if now := o.Heard(one); len(now) != before {
		t.Errorf("a resume replays %q", now[before:])
	}
	loaded := o.Load(one, o.Dir)
	if loaded.Modes.CurrentModeId != "read-only" || string(loaded.Models.CurrentModelId) != model {
		t.Fatalf("%+v", loaded)
	}
	o.InOrder(one, before, "user: first words", "agent: one", "call b1 execute", "call b1 completed", "agent: two")
	if now := len(o.entries(one)); now != past {
		t.Errorf("a replay has added %d entries", now-past)
	}

	// What was interrupted is told as such, and continues.
	before = len(o.Heard(fork.SessionId))
	over := o.Saying(fork.SessionId, "wait again", sdk.StopReasonCancelled)
	o.Until(fork.SessionId, "half a word")
	testkit.OK(t, o.Cancel(o.Ctx, sdk.CancelNotification{SessionId: fork.SessionId}))
	<-over
	o.Load(fork.SessionId, o.Dir)
	o.InOrder(fork.SessionId, before, "half", "user: first words", "agent: two", "user: in the fork", "agent: more", "user: wait again", "interrupted")
	o.Say(fork.SessionId, "go on", sdk.StopReasonEndTurn)
	o.InOrder(fork.SessionId, before, "interrupted", "agent: more")

	// A dead agent is no session.
	dead := testkit.Must(o.ws.Find(t.Context(), string(fork.SessionId)))(t)
	testkit.Must(o.ws.Agents().Kill(t.Context(), session.Kill{Agent: dead}))(t)
	if _, err := o.Prompt(o.Ctx, facetest.Ask(fork.SessionId, "x")); err == nil {
		t.Error("a dead agent answers")
	}
}

func TestBadInputEndsNothing(t *testing.T) {
	o := greeted(t)
	one := o.begin(`{"repeat": true, "steps": [{"text": "alive"}]}`)
	// request is one on the session, with more parameters.
	request := func(id, method, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"session/%s","params":{"sessionId":%q,%s}}`, id, method, one, more)
	}
	nobody := func(line string) string { return strings.Replace(line, string(one), "nobody", 1) }
	for _, bad := range []struct{ send, want string }{
		{"garbage", `"id":null,"error":{"code":-32700`},
		{"\x00\xff\xfe{", `"code":-32700`},
		{`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":"u","method":"session/unheard_of","params":{}}`, `"id":"u","error":{"code":-32601`},
		{nobody(request("n", "prompt", `"prompt":[{"type":"text","text":"x"}]`)), `"id":"n","error":{"code":-32002`},
		{request("e", "prompt", `"prompt":[]`), `"id":"e","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":[]}`, `"id":"q","error":{"code":-32602`},
		{request("m", "set_mode", `"modeId":"yolo"`), `"id":"m","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"c","method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`, `"id":"c","error":{"code":-32602`},
		{nobody(request("l", "load", `"cwd":"`+o.Dir+`","mcpServers":[]`)), `"id":"l","error":{"code":-32002`},
		{request("long", "prompt", `"prompt":[{"type":"text","text":"`+strings.Repeat("x", 16<<20)+`"}]`), `"id":"long","error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"initialize"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}` + "\n" + `{"jsonrpc":"2.0","id":"z"}`, `"id":"z","error":{"code":-32600`},
	} {
		testkit.Must(io.WriteString(o.In, bad.send+"\n"))(t)
		o.Frame(bad.want)
	}
	o.Say(one, "are you there", sdk.StopReasonEndTurn)
	o.InOrder(one, 0, "agent: alive")
	users := slices.DeleteFunc(o.entries(one), func(e session.Entry) bool { return e.Kind != history.User })
	if len(users) != 1 {
		t.Errorf("%d prompts are in the history", len(users))
	}
}

func TestOneSessionDoesNotWaitForAnother(t *testing.T) {
	o := greeted(t)
	one := o.begin(`{"steps": [{"text": "half a word "}, {"wait": "gate"}, {"text": "whole"}]}`)
	two := o.begin(`{"steps": [{"text": "meanwhile"}]}`)
	over := o.Saying(one, "wait for it", sdk.StopReasonEndTurn)
	o.Until(one, "agent: half a word")
	o.Say(two, "do not wait", sdk.StopReasonEndTurn)
	o.InOrder(two, 0, "agent: meanwhile")
	o.Gates.Open("gate")
	<-over
}

// Turns of the editor's own kernel end with the editor; those of a kernel that stays continue, and its questions are asked.
func TestTheEditorLeaves(t *testing.T) {
	for _, stays := range []bool{false, true} {
		h := facetest.New(t)
		var shared *session.Workspace
		if stays {
			asks := httpapi.NewAsks(0)
			shared = h.Open(session.Kernel{Ask: asks})
			shared.Answers = asks
			asks.Tell(shared.Kernel.Events.Publish)
		}
		o := open(t, h, shared)
		o.Choose = func(sdk.RequestPermissionRequest) string { return "once" }
		one := o.begin(`{"steps": [{"call": "bash", "args": {"command": "sleep 777"}}]}`)
		go o.Prompt(o.Ctx, facetest.Ask(one, "sleep"))
		testkit.Receive(t, "the command begins", h.Began)
		o.In.Close()
		<-o.served
		if ended := len(h.Ran) == 1; ended == stays {
			t.Errorf("its kernel stays: %t, the command ended: %t", stays, ended)
		}
		if stays {
			shared.Stopped()
		}
		o.entries(one)
	}
}

// A server that the editor lends is its session's alone.
func TestServersAreLent(t *testing.T) {
	o := greeted(t)
	lent := sdk.McpServer{Http: &sdk.McpServerHttpInline{Name: "My Notes", Type: "http", Url: "http://127.0.0.1:9/mcp", Headers: []sdk.HttpHeader{{Name: "X-Key", Value: "k"}}}}
	model := o.Script()
	one, other := o.Begin(o.Dir, model, lent), o.Begin(o.Dir, model)
	if got := o.ws.Servers().Lent(t.Context(), id.Agent(one)); len(got) != 1 || got[0].Name != "my-notes" || got[0].URL != lent.Http.Url || got[0].Headers["X-Key"] != "k" {
		t.Errorf("lent are %+v", got)
	}
	if got := o.ws.Servers().Lent(t.Context(), id.Agent(other)); len(got) != 0 {
		t.Errorf("another session has the servers %+v too", got)
	}
	for what, given := range map[string][]sdk.McpServer{
		"two of one name": {lent, {Stdio: &sdk.McpServerStdio{Name: "my-notes", Command: "x"}}},
		"sse":             {{Sse: &sdk.McpServerSseInline{Name: "s", Url: lent.Http.Url}}},
		"no name":         {{Stdio: &sdk.McpServerStdio{Name: "!", Command: "x"}}},
		"too many":        make([]sdk.McpServer, mostLent+1),
	} {
		if out, err := servers(given); !fault.Is(err, fault.InvalidField) {
			t.Errorf("%s: %v, %v", what, out, err)
		}
	}
	stdio := sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: "files", Command: "serve", Args: []string{"-v"}, Env: []sdk.EnvVariable{{Name: "A", Value: "b"}}}}
	want := config.Server{Name: "files", Command: "serve", Args: []string{"-v"}, Env: map[string]string{"A": "b"}}
	if got, err := servers([]sdk.McpServer{stdio}); err != nil || fmt.Sprint(got) != fmt.Sprint([]config.Server{want}) {
		t.Errorf("%+v, %v", got, err)
	}
}
