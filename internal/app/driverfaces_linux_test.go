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
