package ledger

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

const command = "ramet " + ClaudeHook

// theirs is a settings file with hooks of its owner, some in the same events as ours.
const theirs = `{
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "SubagentStop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}]
  },
  "model": "opus"
}
`

func install(t *testing.T, settings string) string {
	t.Helper()
	out := testkit.Must(InstallClaudeHook([]byte(settings), command))(t)
	return string(out)
}

func uninstall(t *testing.T, settings string) (string, bool) {
	t.Helper()
	out, changed, err := UninstallClaudeHook([]byte(settings))
	testkit.OK(t, err)
	return string(out), changed
}

func valueClaude(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	return v
}

func TestInstallAddsOneCommandForEachEvent(t *testing.T) {
	for _, settings := range []string{"", "{}", `{"hooks":null}`, `{"hooks":{"SubagentStart":null,"SubagentStop":[]}}`, theirs} {
		out := install(t, settings)
		if n := strings.Count(out, command); n != len(events) {
			t.Errorf("%d commands in %s", n, out)
		}
		hooks := valueClaude(t, out)["hooks"].(map[string]any)
		for _, e := range events {
			groups := hooks[e.name].([]any)
			last := groups[len(groups)-1].(map[string]any)
			if matcher, _ := last["matcher"].(string); matcher != e.matcher {
				t.Errorf("%s has the matcher %q", e.name, matcher)
			}
			hook := last["hooks"].([]any)[0].(map[string]any)
			if hook["type"] != "command" || hook["command"] != command {
				t.Errorf("%v", hook)
			}
		}
	}
}

func TestInstallTwiceIsInstallOnce(t *testing.T) {
	for _, settings := range []string{"", theirs} {
		once := install(t, settings)
		if twice := install(t, once); twice != once {
			t.Errorf("%s\nthen\n%s", once, twice)
		}
	}
	// Another command line of ours takes the place of the first.
	out, err := InstallClaudeHook([]byte(install(t, theirs)), "/opt/ramet "+ClaudeHook+" --timeout 5")
	if err != nil || strings.Contains(string(out), `"`+command+`"`) {
		t.Errorf("%v %s", err, out)
	}
}

func TestWhatIsThereStays(t *testing.T) {
	out := install(t, theirs)
	for _, text := range []string{`{"allow": ["Bash(ls:*)"]}`, `{"hooks": [{"type": "command", "command": "say done"}]}`,
		`[{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}]`, `"model": "opus"`} {
		if !strings.Contains(out, text) {
			t.Errorf("%s is gone:\n%s", text, out)
		}
	}
	back, changed := uninstall(t, out)
	if !changed || !reflect.DeepEqual(valueClaude(t, back), valueClaude(t, theirs)) {
		t.Errorf("%t %s", changed, back)
	}
	if again, changed := uninstall(t, back); changed || again != back {
		t.Errorf("%t %s", changed, again)
	}
}

func TestUninstallTakesOurCommandOutOfAGroupOfOthers(t *testing.T) {
	out, changed := uninstall(t, `{"hooks":{"SubagentStop":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"'/x y/ramet' track hook claude-code --timeout 9"}],"x":1}]}}`)
	if !changed || !reflect.DeepEqual(valueClaude(t, out), valueClaude(t, `{"hooks":{"SubagentStop":[{"hooks":[{"type":"command","command":"a"}],"x":1}]}}`)) {
		t.Errorf("%s", out)
	}
	if out, _ := uninstall(t, install(t, "")); out != "{}\n" {
		t.Errorf("%q", out)
	}
	// A mention elsewhere is no hook.
	for _, mention := range []string{
		`{"hooks":{"Stop":[{"matcher":"track hook claude-code","hooks":[{"type":"command","command":"a"}]}]}}`,
		`{"hooks":{"SubagentStop":[{"note":"track hook claude-code"}]}}`,
	} {
		if out, changed := uninstall(t, mention); changed || out != mention {
			t.Errorf("%s", out)
		}
	}
}

func TestSettingsThatAreNoneAreLeftAlone(t *testing.T) {
	for _, settings := range []string{"{", "[]", "// comment\n{}", `{"hooks":[]}`, `{"hooks":{"SubagentStop":{}}}`, `{"hooks":"x"}`} {
		if _, err := InstallClaudeHook([]byte(settings), command); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func FuzzInstall(f *testing.F) {
	f.Add([]byte(theirs))
	f.Add([]byte(`{"hooks":{"SubagentStop":[{"x":[{"y":"track hook claude-code"}]}]}}`))
	f.Add([]byte(`{"hooks":{"SubagentStop":[null,1,{"hooks":{}},{"hooks":[1,{"command":2},{"command":"track hook claude-code"}]}]}}`))
	f.Fuzz(func(t *testing.T, settings []byte) {
		out, err := InstallClaudeHook(settings, command)
		if err != nil {
			return
		}
		again, err := InstallClaudeHook(out, command)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%v\n%s\n%s", err, out, again)
		}
		back, changed, err := UninstallClaudeHook(out)
		if err != nil || !changed || !json.Valid(back) {
			t.Fatalf("%v %t %s", err, changed, back)
		}
	})
}

func FuzzParseInput(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","hook_event_name":"SubagentStop","agent_id":"a","agent_type":"Explore","tool_input":{"subagent_type":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseClaudeInput(data)
		if err == nil && (in.Event == "" || !json.Valid(data)) {
			t.Fatalf("%+v %v", in, err)
		}
		if err != nil && !fault.Is(err, fault.InvalidText) {
			t.Fatal(err)
		}
	})
}
