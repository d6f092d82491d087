package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// What a program offers (modes, models, efforts, commands) is chosen on every face as our own is, and is
// what the program then does.

func TestAProgramsChoicesOverHTTP(t *testing.T) {
	t.Parallel()
	s := driven(t)
	s.must(t, "fork", "--name", "kid", "--driver", "fake")
	s.must(t, "exec", "kid", "which")
	web := s.serve(t)
	var now struct {
		Mode    string
		Program *struct {
			Driver                           string
			Mode                             *string
			Modes, Models, Efforts, Commands []struct{ Word string }
		}
	}
	if code := web.ask("GET", "/api/v1/agents/kid/mode", "", &now); code != 200 || now.Program == nil || now.Program.Driver != "fake" ||
		len(now.Program.Modes) != 3 || len(now.Program.Models) != 2 || len(now.Program.Efforts) != 2 || len(now.Program.Commands) != 2 {
		t.Fatalf("%d %+v", code, now)
	}
	var refused struct{ Code, Detail string }
	if code := web.ask("POST", "/api/v1/agents/kid/mode", `{"mode":"fake:loud"}`, &refused); code != 422 && code != 400 {
		t.Errorf("a mode that it does not have: %d %+v", code, refused)
	}
	if code := web.ask("POST", "/api/v1/agents/kid/mode", `{"mode":"fake:ask"}`, &now); code != 200 || now.Program.Mode == nil || *now.Program.Mode != "ask" || now.Mode != "ask" {
		t.Errorf("%d %+v", code, now)
	}
	var begun any
	if code := web.ask("POST", "/api/v1/agents/kid/prompt", `{"text":"which","model":"driver/fake/big","effort":"high"}`, &begun); code != 202 && code != 200 {
		t.Fatalf("%d %v", code, begun)
	}
	eventually(t, "the program works as was chosen", func() bool {
		return strings.Contains(s.must(t, "log", "kid", "--own", "--json"), `"content":"mode ask, model big, effort high"`)
	})
	if code := web.ask("POST", "/api/v1/agents/kid/prompt", `{"text":"/zap that"}`, &begun); code != 202 && code != 200 {
		t.Fatalf("%d %v", code, begun)
	}
	eventually(t, "its own command", func() bool {
		return strings.Contains(s.must(t, "log", "kid", "--own", "--json"), `"content":"/zap did that"`)
	})
}

func TestAProgramsChoicesInAnEditor(t *testing.T) {
	t.Parallel()
	s := driven(t)
	e := s.edit(t)
	one := e.begin("driver/fake")
	e.say(one, "which")
	inOrder(t, e.heard(one), "agent: mode wild, model small")
	e.until(one, "commands: zap fake:compact")
	again, err := e.LoadSession(e.ctx, sdk.LoadSessionRequest{SessionId: one, Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"fake:careful"`, `"driver/fake/big"`, `"currentModelId":"driver/fake"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("it does not offer %s: %s", want, raw)
		}
	}
	if _, err := e.SetSessionMode(e.ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "fake:careful"}); err != nil {
		t.Error(err)
	}
	if _, err := e.SetSessionMode(e.ctx, sdk.SetSessionModeRequest{SessionId: one, ModeId: "fake:loud"}); err == nil {
		t.Error("a mode that it does not have")
	}
	e.use(one, "driver/fake/big")
	if _, err := e.SetSessionConfigOption(e.ctx, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: one, ConfigId: "effort", Value: "high"}}); err != nil {
		t.Error(err)
	}
	e.say(one, "which")
	e.until(one, "mode careful, model big, effort high")
	e.say(one, "/zap that")
	e.until(one, "/zap did that")
}
