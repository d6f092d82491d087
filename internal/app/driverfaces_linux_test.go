package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/testkit"
)

// What a program offers (modes, models, efforts, commands) is chosen on every face as our own is, and is
// what the program then does.

func TestAProgramsChoicesInAnEditor(t *testing.T) {
	t.Parallel()
	s := driven(t)
	e := s.edit(t)
	one := e.begin("driver/fake")
	e.say(one, "which")
	inOrder(t, e.heard(one), "agent: mode wild, model small")
	e.until(one, "commands: zap fake:compact")
	again := testkit.Must(e.LoadSession(e.ctx, sdk.LoadSessionRequest{SessionId: one, Cwd: s.dir, McpServers: []sdk.McpServer{}}))(t)
	raw := testkit.Must(json.Marshal(again))(t)
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
