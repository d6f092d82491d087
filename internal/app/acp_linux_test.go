package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/testkit"
	"ramet/internal/testkit/facetest"
)

// editor is an editor that started `ramet acp`.
type editor struct {
	*facetest.Editor
	cmd  *exec.Cmd
	over chan struct{} // closed when the command has ended
}

// edit starts an editor.
func edit(t *testing.T, cmd *exec.Cmd) *editor {
	t.Helper()
	var stderr bytes.Buffer
	in := testkit.Must(cmd.StdinPipe())(t)
	read, write, err := os.Pipe()
	testkit.OK(t, err)
	cmd.Stdout, cmd.Stderr = write, &stderr
	testkit.OK(t, cmd.Start())
	write.Close()
	e := &editor{Editor: facetest.Connect(t, in, read), cmd: cmd, over: make(chan struct{})}
	go func() {
		defer close(e.over)
		cmd.Wait() // its exit code is looked at by whoever wants it
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		<-e.over
		read.Close()
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	e.Greet()
	return e
}

// An agent of an editor continues in the background kernel when its editor is gone, and has the MCP server that was lent to it
// alone. An editor's command ends with the kernel; the next one tells what was interrupted.
func TestAnEditorsAgentContinuesWithoutIt(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	mcp := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "notes", Version: "1"}, nil)
	mcpsdk.AddTool(mcp, &mcpsdk.Tool{Name: "keep"}, func(_ context.Context, _ *mcpsdk.CallToolRequest, in struct{ Text string }) (*mcpsdk.CallToolResult, any, error) {
		return &mcpsdk.CallToolResult{Content: []mcpsdk.Content{&mcpsdk.TextContent{Text: "kept " + in.Text}}}, nil, nil
	})
	server := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return mcp }, nil))
	t.Cleanup(server.Close)
	once := func(sdk.RequestPermissionRequest) string { return "once" }
	const keeps = `{"steps": [{"call": "My-Notes__keep", "args": {"Text": "this"}}, {"call": "my-notes__keep", "args": {"Text": "this"}}]}`
	kept := func(one sdk.SessionId) bool {
		return strings.Contains(s.must(t, "log", string(one), "--own", "--json"), "kept this")
	}

	e := edit(t, s.command("acp"))
	one := e.Begin(s.dir, s.script(t, keeps, `{"steps": [{"text": "begun"}, {"call": "bash", "args": {"command": "sleep 777"}}]}`),
		sdk.McpServer{Http: &sdk.McpServerHttpInline{Name: "My Notes", Type: "http", Url: server.URL, Headers: []sdk.HttpHeader{}}})
	e.Choose = once
	go e.Prompt(e.Ctx, facetest.Ask(one, "sleep"))
	works := func() bool { return strings.Contains(s.must(t, "ps"), "runs bash") }
	testkit.WaitUntil(t, "the command runs", works)
	e.In.Close()
	<-e.over
	if code := e.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !works() {
		t.Error("it was stopped with its editor")
	}
	if !kept(one) {
		t.Error("the server was not called")
	}

	e = edit(t, s.command("acp"))
	other := e.Begin(s.dir, s.script(t, keeps, `{"steps": [{"text": "done"}]}`))
	e.Choose = once
	e.Say(other, "keep it", sdk.StopReasonEndTurn)
	if kept(other) {
		t.Error("another session has the server too")
	}
	var kernel struct{ PID int }
	if err := json.Unmarshal([]byte(s.must(t, "server", "status", "--json")), &kernel); err != nil || kernel.PID == 0 {
		t.Fatal(kernel, err)
	}
	testkit.OK(t, syscall.Kill(kernel.PID, syscall.SIGKILL))
	<-e.over
	testkit.OK(t, s.quiet(patience))

	e = edit(t, s.command("acp"))
	e.Load(one, s.dir)
	e.InOrder(one, 0, "user: sleep", "agent: begun", "failed")
	e.Use(one, s.script(t, `{"steps": [{"text": "taken up"}]}`))
	e.Say(one, "go on", sdk.StopReasonEndTurn)
	e.InOrder(one, 0, "failed", "agent: taken up")
	s.must(t, "server", "stop", "--force")
	testkit.OK(t, s.quiet(patience))
	testkit.OK(t, answered(testkit.Must(s.history(string(one)))(t)))
}

// What a program offers (modes, models, efforts, commands) is chosen on every face as our own is, and is
// what the program then does.

func TestAProgramsChoicesInAnEditor(t *testing.T) {
	t.Parallel()
	s := driven(t)
	e := edit(t, s.command("acp"))
	one := e.Begin(s.dir, "driver/fake")
	e.Say(one, "which", sdk.StopReasonEndTurn)
	e.InOrder(one, 0, "agent: mode wild, model small")
	e.Until(one, "commands: zap fake:compact")
	raw := testkit.Must(json.Marshal(e.Load(one, s.dir)))(t)
	for _, want := range []string{`"fake:careful"`, `"driver/fake/big"`, `"currentModelId":"driver/fake"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("it does not offer %s: %s", want, raw)
		}
	}
	if _, err := e.SetSessionMode(e.Ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "fake:careful"}); err != nil {
		t.Error(err)
	}
	if _, err := e.SetSessionMode(e.Ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "fake:loud"}); err == nil {
		t.Error("a mode that it does not have")
	}
	e.Use(one, "driver/fake/big")
	if _, err := e.SetSessionConfigOption(e.Ctx, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: one, ConfigId: "effort", Value: "high"}}); err != nil {
		t.Error(err)
	}
	e.Say(one, "which", sdk.StopReasonEndTurn)
	e.Until(one, "mode careful, model big, effort high")
	e.Say(one, "/zap that", sdk.StopReasonEndTurn)
	e.Until(one, "/zap did that")
}
