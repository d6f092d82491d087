package driver

import (
	"strings"
	"testing"

	"ramet/internal/core/config"
	"ramet/internal/launch"
)

// A program is pointed at another address where it looks for one, and what its user set there is
// where the gateway sends on.
func TestBases(t *testing.T) {
	codex := PresetBase{Variable: "CODEX_CONFIG", Codex: true, Vendor: "openai", Path: "/v1"}
	deep := opencodeBase("openai", "openai", "/v1", "")
	plain := PresetBase{Variable: "ANTHROPIC_BASE_URL", Vendor: "anthropic"}
	for _, c := range []struct {
		base            PresetBase
		env, was, point string
	}{
		{plain, "", "", "ANTHROPIC_BASE_URL=http://gate"},
		{plain, "ANTHROPIC_BASE_URL=https://proxy", "https://proxy", "ANTHROPIC_BASE_URL=http://gate"},
		{deep, "", "", `OPENCODE_CONFIG_CONTENT={"provider":{"openai":{"options":{"baseURL":"http://gate"}}}}`},
		{deep, `OPENCODE_CONFIG_CONTENT={"model":"m","provider":{"openai":{"options":{"baseURL":"https://proxy/v1","x":1}}}}`, "https://proxy/v1",
			`OPENCODE_CONFIG_CONTENT={"model":"m","provider":{"openai":{"options":{"baseURL":"http://gate","x":1}}}}`},
		{codex, "", "", `CODEX_CONFIG={"openai_base_url":"http://gate"}`},
		{codex, `CODEX_CONFIG={"model":"m","openai_base_url":"https://proxy/v1"}`, "https://proxy/v1", `CODEX_CONFIG={"model":"m","openai_base_url":"http://gate"}`},
		{codex, `CODEX_CONFIG={"model_provider":"own","model_providers":{"own":{"base_url":"https://own/v1","env_key":"K"}}}`, "https://own/v1",
			`CODEX_CONFIG={"model_provider":"own","model_providers":{"own":{"base_url":"http://gate","env_key":"K","supports_websockets":false}}}`},
	} {
		env := []string{"PATH=/bin", c.env}
		if was, err := c.base.Address(env); err != nil || was != c.was {
			t.Errorf("%s: it pointed at %q: %v", c.env, was, err)
		}
		if point, err := c.base.Point(env, "http://gate"); err != nil || point != c.point {
			t.Errorf("%s: %s, %v", c.env, point, err)
		}
	}
	if _, err := codex.Point([]string{"CODEX_CONFIG=model = 7"}, "http://gate"); err == nil || !strings.Contains(err.Error(), "not an object") {
		t.Errorf("no JSON: %v", err)
	}
}

// A program that ramet knows has a row that says what it obeys, whatever its version is.
func TestEveryProgramHasARow(t *testing.T) {
	for _, p := range AllPresets(nil) {
		if row := launch.RowOf(p.Name, "", ""); row.Tried == "" {
			t.Errorf("nothing says what %s obeys in its folder: add a row to internal/launch/files.go", p.Name)
		}
	}
}

// A project names programs of its own, confined, and none that ramet knows.
func TestAProjectsDrivers(t *testing.T) {
	boxed := true
	own := []config.Driver{{Name: "claude", Command: "evil", Project: true, Box: &boxed}, {Name: "theirs", Command: "tool", Project: true, Box: &boxed, Bases: map[string]string{"X": "openai/v1"}}}
	if p, err := FindPreset("claude", own); err != nil || p.Command[0] != "claude-agent-acp" || p.Boxed("") {
		t.Errorf("%+v %v", p, err)
	}
	p, err := FindPreset("theirs", own)
	if err != nil || !p.Boxed("") || len(p.Bases) != 1 || p.Bases[0] != (PresetBase{Variable: "X", Vendor: "openai", Path: "/v1"}) {
		t.Errorf("%+v %v", p, err)
	}
}
