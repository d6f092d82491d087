package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/testkit"
)

// editor is a client of `ramet acp`, as an editor is one.
type editor struct {
	sdk.Client // nil: it offers neither files nor terminals
	*sdk.ClientSideConnection
	t      *testing.T
	ctx    context.Context
	stage  *stage
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *bytes.Buffer
	over   chan struct{}

	mu      sync.Mutex
	updates []sdk.SessionNotification
	asked   []sdk.RequestPermissionRequest
	frames  bytes.Buffer // all that it wrote
	news    chan struct{}
	// choose answers a question; empty: nobody does.
	choose func(sdk.RequestPermissionRequest) string
}

// edit starts an editor on a stage.
func (s *stage) edit(t *testing.T) *editor {
	t.Helper()
	cmd := s.command("acp")
	e := s.editing(t, cmd)
	testkit.Must(e.Initialize(e.ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}))(t)
	return e
}

func (s *stage) editing(t *testing.T, cmd *exec.Cmd) *editor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	e := &editor{t: t, ctx: ctx, stage: s, cmd: cmd, stderr: &bytes.Buffer{}, over: make(chan struct{}), news: make(chan struct{}, 1)}
	cmd.Stderr = e.stderr
	in := testkit.Must(cmd.StdinPipe())(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	testkit.OK(t, cmd.Start())
	write.Close()
	e.in = in
	e.ClientSideConnection = sdk.NewClientSideConnection(e, in, io.TeeReader(read, framed{e}))
	e.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		defer close(e.over)
		cmd.Wait() // its exit code is looked at by whoever wants it
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		<-e.over
		read.Close()
		e.onlyFrames()
	})
	return e
}

// framed keeps what was written.
type framed struct{ e *editor }

func (f framed) Write(p []byte) (int, error) {
	f.e.mu.Lock()
	defer f.e.mu.Unlock()
	return f.e.frames.Write(p)
}

// onlyFrames checks that nothing but messages was written.
func (e *editor) onlyFrames() {
	e.mu.Lock()
	defer e.mu.Unlock()
	whole := e.frames.Bytes()
	for line := range bytes.Lines(whole[:bytes.LastIndexByte(whole, '\n')+1]) {
		var m struct{ JSONRPC string }
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			e.t.Errorf("it wrote what is not a message: %.200q", line)
		}
	}
}

func (e *editor) ring() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// SessionUpdate implements sdk.Client.
func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n)
	e.ring()
	return nil
}

// RequestPermission implements sdk.Client.
func (e *editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	choose := e.choose
	e.mu.Unlock()
	e.ring()
	word := ""
	if choose != nil {
		word = choose(r)
	}
	if word == "" {
		<-ctx.Done()
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(word))}, nil
}

// begin makes a session that a script answers.
func (e *editor) begin(model string) sdk.SessionId {
	e.t.Helper()
	made, err := e.NewSession(e.ctx, sdk.NewSessionRequest{Cwd: e.stage.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		e.t.Fatalf("%v\n%s", err, e.stderr)
	}
	e.use(made.SessionId, model)
	return made.SessionId
}

func (e *editor) use(s sdk.SessionId, model string) {
	e.t.Helper()
	testkit.Must(e.UnstableSetSessionModel(e.ctx, sdk.UnstableSetSessionModelRequest{SessionId: s, ModelId: sdk.UnstableModelId(model)}))(e.t)
}

// say prompts a session and waits for the end of the turn.
func (e *editor) say(s sdk.SessionId, text string) sdk.StopReason {
	e.t.Helper()
	r, err := e.Prompt(e.ctx, sdk.PromptRequest{SessionId: s, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	return r.StopReason
}

// heard is what a session told so far, a line each: kind and words.
func (e *editor) heard(s sdk.SessionId) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.updates {
		if n.SessionId != s {
			continue
		}
		line := told(n.Update)
		for _, kind := range []string{"agent: ", "thought: "} { // pieces of one message
			if n := len(out); n > 0 && strings.HasPrefix(line, kind) && strings.HasPrefix(out[n-1], kind) {
				line = out[n-1] + strings.TrimPrefix(line, kind)
				out = out[:n-1]
			}
		}
		out = append(out, line)
	}
	return out
}

func saidIn(b sdk.ContentBlock) string {
	if b.Text != nil {
		return b.Text.Text
	}
	return "?"
}

func told(u sdk.SessionUpdate) string {
	switch {
	case u.UserMessageChunk != nil:
		return "user: " + saidIn(u.UserMessageChunk.Content)
	case u.AgentMessageChunk != nil:
		return "agent: " + saidIn(u.AgentMessageChunk.Content)
	case u.AgentThoughtChunk != nil:
		return "thought: " + saidIn(u.AgentThoughtChunk.Content)
	case u.ToolCall != nil:
		out := "call " + string(u.ToolCall.ToolCallId) + " " + string(u.ToolCall.Kind) + " " + string(u.ToolCall.Status) + ": " + u.ToolCall.Title
		for _, c := range u.ToolCall.Content {
			if c.Diff != nil {
				old := "(none)"
				if c.Diff.OldText != nil {
					old = *c.Diff.OldText
				}
				out += " [" + filepath.Base(c.Diff.Path) + ": " + old + " => " + c.Diff.NewText + "]"
			}
		}
		return out
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		return "call " + string(u.ToolCallUpdate.ToolCallId) + " " + string(*u.ToolCallUpdate.Status)
	case u.Plan != nil:
		out := "plan:"
		for _, p := range u.Plan.Entries {
			out += " " + string(p.Status) + " " + p.Content
		}
		return out
	case u.CurrentModeUpdate != nil:
		return "mode: " + string(u.CurrentModeUpdate.CurrentModeId)
	case u.AvailableCommandsUpdate != nil:
		out := "commands:"
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			out += " " + c.Name
		}
		return out
	}
	return "other"
}

// until waits for a line of a session.
func (e *editor) until(s sdk.SessionId, want string) {
	e.t.Helper()
	for {
		if slices.ContainsFunc(e.heard(s), func(l string) bool { return strings.Contains(l, want) }) {
			return
		}
		select {
		case <-e.news:
		case <-e.ctx.Done():
			e.t.Fatalf("it never said %q: %q\n%s", want, e.heard(s), e.stderr)
		}
	}
}

// inOrder checks lines that were told, in this order.
func inOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	at := 0
	for _, w := range want {
		i := slices.IndexFunc(got[at:], func(l string) bool { return strings.Contains(l, w) })
		if i < 0 {
			t.Fatalf("%q is not there, or not in order, in:\n%s", w, strings.Join(got, "\n"))
		}
		at += i + 1
	}
}

func code(err error) int {
	var r *sdk.RequestError
	if errors.As(err, &r) {
		return r.Code
	}
	return 0
}

func TestACPAnswersAnEditor(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.editing(t, s.command("acp"))
	hi := testkit.Must(e.Initialize(e.ctx, sdk.InitializeRequest{ProtocolVersion: 99}))(t)
	can := hi.AgentCapabilities
	if hi.ProtocolVersion != 1 || hi.AgentInfo.Name != "ramet" || !can.LoadSession || !can.PromptCapabilities.Image || can.SessionCapabilities.Fork == nil ||
		can.SessionCapabilities.List == nil || can.SessionCapabilities.Resume == nil || can.SessionCapabilities.Close == nil {
		t.Errorf("it says of itself %+v", hi)
	}
	one := e.begin(s.script(t, `{"steps": [{"thinking": "hm"}, {"text": "hello "}, {"text": "there"}, {"usage": {"input": 10, "output": 3}}]}`,
		`{"when": "plan it", "steps": [{"call": "plan", "args": {"steps": [{"step": "look", "state": "done"}, {"step": "mend", "state": "doing"}, {"step": "rest", "state": "open"}]}}]}`,
		`{"steps": [{"text": "planned"}]}`))
	r, err := e.Prompt(e.ctx, sdk.PromptRequest{SessionId: one, Prompt: []sdk.ContentBlock{sdk.TextBlock("say hello")}})
	if err != nil || r.StopReason != sdk.StopReasonEndTurn || r.Usage == nil || r.Usage.OutputTokens != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	inOrder(t, e.heard(one), "thought: hm", "agent: hello there")
	if n := strings.Count(strings.Join(e.heard(one), "\n"), "hello"); n != 1 {
		t.Errorf("told %d times: %q", n, e.heard(one))
	}
	if why := e.say(one, "plan it"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, e.heard(one), "plan: completed look in_progress mend pending rest", "agent: planned")

	// Every part of what an editor's user says reaches the agent.
	two := e.begin(s.script(t, `{"when": "The editor shows file:///x.go", "steps": [{"text": "seen"}]}`))
	_, err = e.Prompt(e.ctx, sdk.PromptRequest{SessionId: two, Prompt: []sdk.ContentBlock{sdk.TextBlock("look at "), sdk.ResourceLinkBlock("y z.go", "file:///y%20z%C3%BC.go#L2:7"),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///x.go", Text: "package x"}})}})
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, e.heard(two), "agent: seen")
	all, err := s.history(string(two))
	if err != nil || !slices.ContainsFunc(all, func(one entry) bool {
		return one.Kind == "user" && strings.Contains(one.text(), "look at /y zü.go#L2:7") && strings.Contains(one.text(), "package x")
	}) {
		t.Errorf("%v: %+v", err, all)
	}
}

func TestACPAsksItsUser(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	write := func(path, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(s.dir, path), []byte(text), 0o600))
	}
	write("a.txt", "old\n")
	e := s.edit(t)
	e.choose = func(r sdk.RequestPermissionRequest) string {
		if strings.Contains(*r.ToolCall.Title, "refused") {
			return "no"
		}
		if strings.Contains(*r.ToolCall.Title, "stopped") {
			return "because"
		}
		return "once"
	}
	one := e.begin(s.script(t,
		`{"steps": [{"call": "read", "args": {"path": "a.txt"}}]}`,
		`{"steps": [{"call": "edit", "id": "e1", "args": {"path": "a.txt", "old_string": "old", "new_string": "new"}}]}`,
		`{"steps": [{"call": "bash", "id": "b1", "args": {"command": "touch refused"}}]}`,
		`{"steps": [{"text": "done"}]}`,
		`{"steps": [{"call": "bash", "id": "b2", "args": {"command": "touch stopped"}}]}`,
		`{"steps": [{"text": "not reached"}]}`))
	if why := e.say(one, "go"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, e.heard(one), "call e1 edit pending: edit a.txt [a.txt: old => new]", "call e1 completed", "call b1 execute pending: touch refused", "call b1 failed", "agent: done")
	if text, err := os.ReadFile(filepath.Join(s.dir, "a.txt")); err != nil || string(text) != "new\n" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "refused")); err == nil {
		t.Error("what was refused ran")
	}
	e.mu.Lock()
	asked := slices.Clone(e.asked)
	e.mu.Unlock()
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
	if why := e.say(one, "again"); why != sdk.StopReasonCancelled {
		t.Errorf("a no with words to come ends the turn, not %s", why)
	}
	all := testkit.Must(s.history(string(one)))(t)
	if err := answered(all); err != nil {
		t.Error(err)
	}
	if raw := s.must(t, "log", string(one), "--own", "--json"); !strings.Contains(raw, `"face":"acp"`) {
		t.Error("nobody knows who answered")
	}
}

func TestACPCancelLeavesNothingAlive(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.edit(t)
	e.choose = func(sdk.RequestPermissionRequest) string { return "once" }
	one := e.begin(s.script(t, `{"steps": [{"call": "bash", "id": "b1", "args": {"command": "echo begun; sleep 777 & sleep 777"}}]}`,
		`{"steps": [{"text": "after"}]}`))
	done := make(chan sdk.StopReason, 1)
	go func() { done <- e.say(one, "sleep") }()
	e.until(one, "call b1 in_progress")
	testkit.OK(t, e.Cancel(e.ctx, sdk.CancelNotification{SessionId: one}))
	if why := <-done; why != sdk.StopReasonCancelled {
		t.Error(why)
	}
	for pid, line := range s.survivors() {
		if pid != e.cmd.Process.Pid && strings.Contains(line, "sleep 777") {
			t.Errorf("alive after the cancel was answered: %s", line)
		}
	}
	if why := e.say(one, "and now"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, e.heard(one), "call b1 failed", "agent: after")

	// A cancel that is sent with the prompt finds it.
	gate, _ := s.pipe(t)
	two := e.begin(s.script(t, `{"repeat": true, "steps": [{"text": "x"}, {"wait": "`+gate+`"}]}`))
	raw := `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"` + string(two) + `","prompt":[{"type":"text","text":"go"}]}}` + "\n" +
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + string(two) + `"}}` + "\n"
	testkit.Must(io.WriteString(e.in, raw))(t)
	e.frame(`"id":"p","result":{"stopReason":"cancelled"`)

	// So does one of the request itself.
	raw = strings.ReplaceAll(raw[:strings.Index(raw, "\n")+1], `"p"`, `"q"`)
	testkit.Must(io.WriteString(e.in, raw+`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}`+"\n"))(t)
	e.frame(`"id":"q","result":{"stopReason":"cancelled"`)
}

// frame waits until a message was written that holds some text.
func (e *editor) frame(want string) {
	e.t.Helper()
	for {
		e.mu.Lock()
		has := strings.Contains(e.frames.String(), want)
		e.mu.Unlock()
		if has {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-e.ctx.Done():
			e.t.Fatalf("nothing holds %s in\n%s%s", want, e.frames.String(), e.stderr)
		}
	}
}

func TestACPSessionsAreAgents(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.edit(t)
	e.choose = func(sdk.RequestPermissionRequest) string { return "once" }
	model := s.script(t, `{"steps": [{"text": "one"}, {"call": "bash", "id": "b1", "args": {"command": "echo hi"}}]}`, `{"steps": [{"text": "two"}]}`,
		`{"repeat": true, "steps": [{"text": "more"}]}`)
	one := e.begin(model)
	e.say(one, "first words")
	fork, err := e.UnstableForkSession(e.ctx, sdk.UnstableForkSessionRequest{SessionId: one, Cwd: s.dir})
	if err != nil || fork.SessionId == one || fork.Modes == nil || fork.Models == nil {
		t.Fatalf("%+v %v", fork, err)
	}
	e.say(fork.SessionId, "in the fork")
	testkit.Must(e.SetSessionMode(e.ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "read-only"}))(t)
	e.until(one, "mode: read-only")
	if out := s.must(t, "mode", string(one)); !strings.Contains(out, "read-only") {
		t.Errorf("mode says %s", out)
	}
	set, err := e.SetSessionConfigOption(e.ctx, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: one, ConfigId: "effort", Value: "high"}})
	if err != nil || !slices.ContainsFunc(set.ConfigOptions, func(o sdk.SessionConfigOption) bool {
		return o.Select != nil && o.Select.Id == "effort" && o.Select.CurrentValue == "high"
	}) {
		t.Errorf("%+v %v", set, err)
	}

	list := testkit.Must(e.ListSessions(e.ctx, sdk.ListSessionsRequest{Cwd: &s.dir}))(t)
	titles := map[sdk.SessionId]string{}
	for _, one := range list.Sessions {
		titles[one.SessionId] = *one.Title
		if one.Cwd != s.dir || one.UpdatedAt == nil {
			t.Errorf("%+v", one)
		}
	}
	if len(list.Sessions) != 3 || titles[one] != "first words" || titles[fork.SessionId] != "in the fork" {
		t.Errorf("listed are %v", titles) // agent 0 too
	}

	testkit.Must(e.CloseSession(e.ctx, sdk.CloseSessionRequest{SessionId: one}))(t)
	if _, err := e.Prompt(e.ctx, sdk.PromptRequest{SessionId: one, Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}}); code(err) != -32002 {
		t.Errorf("a session that was closed: %v", err)
	}
	before := len(e.heard(one))
	past, _ := s.history(string(one))
	loaded, err := e.LoadSession(e.ctx, sdk.LoadSessionRequest{SessionId: one, Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil || loaded.Modes.CurrentModeId != "read-only" || string(loaded.Models.CurrentModelId) != model {
		t.Fatalf("%+v %v", loaded, err)
	}
	inOrder(t, e.heard(one)[before:], "user: first words", "agent: one", "call b1 execute", "call b1 completed", "agent: two")
	if now, _ := s.history(string(one)); len(now) != len(past) {
		t.Errorf("a replay has added %d entries", len(now)-len(past))
	}
	before = len(e.heard(fork.SessionId))
	testkit.Must(e.LoadSession(e.ctx, sdk.LoadSessionRequest{SessionId: fork.SessionId, Cwd: s.dir, McpServers: []sdk.McpServer{}}))(t)
	inOrder(t, e.heard(fork.SessionId)[before:], "user: first words", "agent: two", "user: in the fork", "agent: more")

	// A dead agent is no session.
	s.must(t, "kill", string(fork.SessionId))
	if _, err := e.Prompt(e.ctx, sdk.PromptRequest{SessionId: fork.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}}); err == nil {
		t.Error("a dead agent answers")
	}
}

func TestACPBadInputEndsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.edit(t)
	one := e.begin(s.script(t, `{"repeat": true, "steps": [{"text": "alive"}]}`))
	for _, bad := range []struct{ send, want string }{
		{"garbage", `"id":null,"error":{"code":-32700`},
		{"\x00\xff\xfe{", `"code":-32700`},
		{`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":"u","method":"session/unheard_of","params":{}}`, `"id":"u","error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":"n","method":"session/prompt","params":{"sessionId":"nobody","prompt":[{"type":"text","text":"x"}]}}`, `"id":"n","error":{"code":-32002`},
		{`{"jsonrpc":"2.0","id":"e","method":"session/prompt","params":{"sessionId":"` + string(one) + `","prompt":[]}}`, `"id":"e","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":[]}`, `"id":"q","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"m","method":"session/set_mode","params":{"sessionId":"` + string(one) + `","modeId":"yolo"}}`, `"id":"m","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"c","method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`, `"id":"c","error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"cwd":"` + s.dir + `","sessionId":"nobody","mcpServers":[]}}`, `"id":"l","error":{"code":-32002`},
		{`{"jsonrpc":"2.0","id":"long","method":"session/prompt","params":{"sessionId":"` + string(one) + `","prompt":[{"type":"text","text":"` + strings.Repeat("x", 16<<20) + `"}]}}`, `"id":"long","error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"initialize"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}` + "\n" + `{"jsonrpc":"2.0","id":"z"}`, `"id":"z","error":{"code":-32600`},
	} {
		testkit.Must(io.WriteString(e.in, bad.send+"\n"))(t)
		e.frame(bad.want)
	}
	if why := e.say(one, "are you there"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, e.heard(one), "agent: alive")
	all, err := s.history(string(one))
	users := 0
	for _, one := range all {
		if one.Kind == "user" {
			users++
		}
	}
	if err != nil || users != 1 {
		t.Errorf("%d prompts stand in the history: %v", users, err)
	}
}

// When the editor is gone, its agent works on in the background kernel.
func TestACPAgentsContinueWithoutTheirEditor(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.edit(t)
	e.choose = func(sdk.RequestPermissionRequest) string { return "once" }
	one := e.begin(s.script(t, `{"steps": [{"text": "begun"}, {"call": "bash", "id": "b1", "args": {"command": "sleep 777"}}]}`))
	go e.Prompt(e.ctx, sdk.PromptRequest{SessionId: one, Prompt: []sdk.ContentBlock{sdk.TextBlock("sleep")}})
	works := func() bool { return strings.Contains(s.must(t, "ps"), "runs bash") }
	eventually(t, "the command runs", works)
	e.in.Close()
	<-e.over
	if code := e.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, e.stderr)
	}
	if !works() {
		t.Error("it was stopped with its editor")
	}
	s.must(t, "server", "stop", "--force")
	if err := s.quiet(patience); err != nil {
		t.Error(err)
	}
	all := testkit.Must(s.history(string(one)))(t)
	if err := answered(all); err != nil {
		t.Error(err)
	}
}

func TestACPTwoSessionsAndSIGKILL(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	e := s.edit(t)
	gate, open := s.pipe(t)
	one := e.begin(s.script(t, `{"steps": [{"text": "half a word "}, {"wait": "`+gate+`"}, {"text": "whole"}]}`, `{"repeat": true, "steps": [{"text": "again"}]}`))
	two := e.begin(s.script(t, `{"steps": [{"text": "meanwhile"}]}`))
	done := make(chan sdk.StopReason, 1)
	go func() { done <- e.say(one, "wait for it") }()
	e.until(one, "agent: half a word")
	if why := e.say(two, "do not wait"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, e.heard(two), "agent: meanwhile")
	testkit.Must(open.Write([]byte{1}))(t)
	if why := <-done; why != sdk.StopReasonEndTurn {
		t.Error(why)
	}

	three := e.begin(s.script(t, `{"steps": [{"text": "three began "}, {"wait": "`+gate+`"}]}`, `{"repeat": true, "steps": [{"text": "taken up"}]}`))
	go e.Prompt(e.ctx, sdk.PromptRequest{SessionId: three, Prompt: []sdk.ContentBlock{sdk.TextBlock("wait again")}})
	e.until(three, "agent: three began")
	var kernel struct{ PID int }
	if err := json.Unmarshal([]byte(s.must(t, "server", "status", "--json")), &kernel); err != nil || kernel.PID == 0 {
		t.Fatal(kernel, err)
	}
	testkit.OK(t, syscall.Kill(kernel.PID, syscall.SIGKILL))
	<-e.over
	if err := s.quiet(patience); err != nil {
		t.Error(err)
	}

	next := s.edit(t)
	if _, err := next.LoadSession(next.ctx, sdk.LoadSessionRequest{SessionId: three, Cwd: s.dir, McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatalf("%v\n%s", err, next.stderr)
	}
	inOrder(t, next.heard(three), "user: wait again", "interrupted")
	next.use(three, s.script(t, `{"repeat": true, "steps": [{"text": "taken up"}]}`))
	if why := next.say(three, "go on"); why != sdk.StopReasonEndTurn {
		t.Error(why)
	}
	inOrder(t, next.heard(three), "agent: taken up")
	testkit.Must(next.ResumeSession(next.ctx, sdk.ResumeSessionRequest{SessionId: one, Cwd: s.dir}))(t)
	if len(next.heard(one)) != 0 {
		t.Errorf("a resume replays %q", next.heard(one))
	}
}

// A server that the editor lends is its session's alone.
func TestACPLendsServers(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	mcp := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "notes", Version: "1"}, nil)
	mcpsdk.AddTool(mcp, &mcpsdk.Tool{Name: "keep"}, func(_ context.Context, _ *mcpsdk.CallToolRequest, in struct{ Text string }) (*mcpsdk.CallToolResult, any, error) {
		return &mcpsdk.CallToolResult{Content: []mcpsdk.Content{&mcpsdk.TextContent{Text: "kept " + in.Text}}}, nil, nil
	})
	server := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return mcp }, nil))
	t.Cleanup(server.Close)
	t.Cleanup(func() { s.must(t, "server", "stop", "--force") })
	e := s.edit(t)
	e.choose = func(sdk.RequestPermissionRequest) string { return "once" }
	script := func() string {
		return s.script(t, `{"steps": [{"call": "My-Notes__keep", "id": "k1", "args": {"Text": "this"}}, {"call": "my-notes__keep", "id": "k2", "args": {"Text": "this"}}]}`, `{"steps": [{"text": "done"}]}`)
	}
	made := testkit.Must(e.NewSession(e.ctx, sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{{Http: &sdk.McpServerHttpInline{Name: "My Notes", Type: "http", Url: server.URL, Headers: []sdk.HttpHeader{}}}}}))(t)
	e.use(made.SessionId, script())
	e.say(made.SessionId, "keep it")
	if out := s.must(t, "log", string(made.SessionId), "--own", "--json"); !strings.Contains(out, "kept this") {
		t.Errorf("the server was not called:\n%s\n%s", out, e.stderr)
	}
	other := e.begin(script())
	e.say(other, "keep it")
	if out := s.must(t, "log", string(other), "--own", "--json"); strings.Contains(out, "kept this") {
		t.Error("another session has the server too")
	}
}
