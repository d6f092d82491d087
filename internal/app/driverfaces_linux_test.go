package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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

func TestAProgramsChoicesOnTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, config := filepath.Join(w.home, "acpagent"), filepath.Join(w.home, ".config", "ramet")
	for _, err := range []error{os.Symlink(self, program), os.MkdirAll(config, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.write(filepath.Join(config, "config.toml"), "[driver.fake]\ncommand = \""+program+"\"\nasks = true\nbox = false\nmode = \"ask\"\n[driver.fake.env]\nACPAGENT_CAN = \"resume\"\nACPAGENT_STATE = \""+w.home+"\"\n")
	w.ramet("exec", "--driver", "fake", "which")
	screen := w.open(100, 30)
	screen.see("fake: ask")
	screen.say("/mode fake:careful")
	screen.see("fake: careful")
	screen.say("/model driver/fake/big")
	screen.see(" driver/fake/big ·")
	screen.say("/effort high")
	screen.say("which")
	screen.see("mode careful, model big, effort high")
	screen.say("/zap that")
	screen.see("/zap did that")
	screen.leave()
	if log := w.ramet("log", "0", "--own", "--json"); !slices.Contains(strings.FieldsFunc(log, func(r rune) bool { return r == '"' }), "/zap did that") {
		t.Errorf("its history:\n%s", log)
	}
}
