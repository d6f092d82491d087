package driver

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// Only what a program says to be a command line is one: a title may be words about it.
func TestTheCommandOfACall(t *testing.T) {
	for _, c := range []struct{ kind, title, input, want string }{
		{"execute", "Run it", `{"command":"make test"}`, "make test"},
		{"execute", "", `{"command":["bash","-lc","make && rm x"]}`, "make && rm x"},
		{"execute", "", `{"command":["git","commit","-m","it's done"]}`, `git commit -m 'it'\''s done'`},
		{"execute", "", `{"command":["/usr/bin/zsh","-c","make"]}`, "make"},
		{"execute", "", `{"command":["sudo","-c","make"]}`, "sudo -c make"},
		{"execute", "", `{"command":["python3","-c","make"]}`, "python3 -c make"},
		{"other", "", `{"command":"ls"}`, "ls"},
		{"execute", "touch harmless", "", ""},
		{"execute", "touch harmless", `{"description":"touch harmless"}`, ""},
		{"edit", "", `{"command":"view"}`, ""},
		{"execute", "", `{"command":[]}`, ""},
		{"execute", "", `"ls"`, ""},
	} {
		got := (&call{Call: Call{Kind: c.kind, Title: c.title, Input: json.RawMessage(c.input)}}).command()
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// judged counts what is put to the policy, which permits changes in docs, commands that begin with echo and
// reading.
type judged []string

func (j *judged) Decide(_ context.Context, s tool.Spec, c tool.Call) (tool.Grant, *history.Permission, error) {
	subject := ""
	if s.Subject != nil {
		subject = s.Subject(nil)
	}
	*j = append(*j, s.Name+" "+subject)
	if s.Access == tool.Reads || s.Name == "edit" && strings.HasPrefix(subject, "docs/") || s.Name == "bash" && strings.HasPrefix(subject, "echo ") {
		return tool.Free, nil, nil
	}
	return "", nil, fault.New(fault.Denied, "no")
}

// A call is judged by all that it does, whatever the program calls it: by each of the files that it changes, and by
// a command also where that is said to read.
func TestACallIsJudgedByAllThatItDoes(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		kind, input string
		diffs       []string
		want        string
		permitted   bool
	}{
		{"edit", ``, []string{"docs/a"}, "edit docs/a", true},
		{"edit", ``, []string{"docs/a", "docs/b", "docs/a"}, "edit docs/a, edit docs/b", true},
		{"edit", ``, []string{"docs/a", "src/b", "docs/c"}, "edit docs/a, edit src/b", false},
		{"edit", ``, []string{"docs/a", "../b"}, "driver-x__edit ", false},
		{"edit", `{"path":"src/b"}`, []string{"docs/a"}, "edit docs/a, edit src/b", false},
		{"read", `{"path":"src/b"}`, nil, "read ", true},
		{"read", `{"command":"view","path":"src/b"}`, nil, "read ", true},
		{"read", `{"command":["bash","-lc","rm -rf x"]}`, nil, "bash rm -rf x", false},
		{"read", `{"command":["reboot"]}`, nil, "bash reboot", false},
		{"search", `{"command":"grep x . && rm x"}`, nil, "bash grep x . && rm x", false},
		{"search", `{"command":"echo x"}`, nil, "bash echo x", true},
		{"execute", `{"command":"rm x","Command":"echo x"}`, nil, "bash rm x", false},
		{"execute", `{"COMMAND":"echo x"}`, nil, "driver-x__execute ", false},
		{"fetch", `{"url":"https://evil.example/","URL":"https://good.example/"}`, nil, "fetch evil.example", false},
		{"execute", `{"command":["sudo","-c","echo x"]}`, nil, "bash sudo -c 'echo x'", false},
	} {
		one := &call{Call: Call{Kind: c.kind, Input: json.RawMessage(c.input), Title: "harmless"}}
		for _, path := range c.diffs {
			one.Diffs = append(one.Diffs, Diff{Path: path})
		}
		var j judged
		r := &turn{root: root, about: About{Driver: "x"}}
		r.Guard = &j
		specs, made := r.specs(one)
		if _, err := r.decide(t.Context(), specs, made); (err == nil) != c.permitted || strings.Join(j, ", ") != c.want {
			t.Errorf("%+v: %q, %v", c, j, err)
		}
	}
}

// What is told anew of a call replaces what was told, and what is not told stays.
func TestWhatIsToldOfACall(t *testing.T) {
	was := Call{ID: "1", Title: "t", Kind: "edit", Status: Running, Input: json.RawMessage(`{}`), Output: "half", Paths: []string{"/a"}}
	now := merged(was, Call{ID: "1", Status: Done, Output: "whole"})
	if now.Title != "t" || now.Kind != "edit" || now.Status != Done || string(now.Input) != "{}" || now.Output != "whole" || len(now.Paths) != 1 {
		t.Errorf("%+v", now)
	}
}

// A long text keeps its ends, whole letters, and says what is missing.

func TestReferences(t *testing.T) {
	for _, c := range []struct{ name, model string }{{"claude", ""}, {"claude", "opus"}, {"opencode", "anthropic/claude-opus-4-7"}} {
		if name, model, ok := split(Ref(c.name, c.model)); !ok || name != c.name || model != c.model {
			t.Errorf("%+v: %s %s %v", c, name, model, ok)
		}
	}
	if _, _, ok := split(llm.Ref{Vendor: "anthropic", Name: "claude"}); ok {
		t.Error("a model is a driver")
	}
}

// A call is written as soon as it is told what it does, or that it does it: these are the ways in which
// real programs tell. What is only announced waits, however long its input is written at.
func TestWhenACallIsWritten(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		how            string
		call           *call
		ready, settled bool
	}{
		{"Claude Code announces", &call{Call: Call{Kind: "execute", Status: Pending, Input: json.RawMessage(`{}`)}, told: 1, since: long}, false, false},
		{"and tells", &call{Call: Call{Kind: "execute", Status: Pending, Input: json.RawMessage(`{"command":"ls"}`)}, told: 2, since: time.Now()}, true, false},
		{"a tool that wants nothing", &call{Call: Call{Kind: "other", Status: Pending, Input: json.RawMessage(`{}`)}, told: 2, since: long}, false, true},
		{"it was told just now", &call{Call: Call{Kind: "other", Status: Pending, Input: json.RawMessage(`{}`)}, told: 2, since: time.Now()}, false, false},
		{"opencode announces", &call{Call: Call{Kind: "execute", Status: Pending, Input: json.RawMessage(`{"cwd":"/a"}`)}, told: 1, since: long}, false, false},
		{"Codex runs", &call{Call: Call{Kind: "execute", Status: Running, Input: json.RawMessage(`{"command":"ls","cwd":"/a"}`)}, told: 1}, true, false},
		{"Gemini asks, and never tells the input", &call{Call: Call{Kind: "execute", Status: Pending}, asked: true, told: 0, since: time.Now()}, true, false},
		{"it runs without input", &call{Call: Call{Kind: "execute", Status: Running}, told: 1}, true, false},
		{"it never tells", &call{Call: Call{Kind: "fetch", Status: Pending}, told: 1, since: long}, false, true},
		{"an edit", &call{Call: Call{Kind: "edit", Status: Pending, Input: json.RawMessage(`{"file_path":"a"}`)}, told: 1, since: time.Now()}, true, false},
	} {
		if ready, settled := c.call.ready(), !c.call.ready() && c.call.settled(); ready != c.ready || settled != c.settled {
			t.Errorf("%s: ready %v, settled %v", c.how, ready, settled)
		}
	}
}

func split(r llm.Ref) (name, model string, ok bool) { return agent.SplitDriver(r.Vendor, r.Name) }

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

// The program of a driver that a project names is accepted with its bytes, not only the line that names it.
func TestTrustCoversTheProgramOfADriver(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)))
	}
	write(trust.ConfigurationFile, "[driver.ours]\ncommand = \"sh\"\nargs = [\"tools/agent.sh\", \"--plugin=tools/plugin\"]\n")
	write("tools/agent.sh", "exec agent\n")
	write("tools/plugin", "one\n")
	gate := trust.Gate{Home: home, Project: project, Sources: append(trust.Standard(), PresetSource())}
	review := testkit.Must(gate.Review())(t)
	testkit.OK(t, gate.Accept(t.Context(), review))
	files := []string{"tools/agent.sh", "tools/plugin"}
	if _, first, err := gate.Unaccepted(project, files); err != nil || first != "" {
		t.Fatalf("%q is not accepted: %v", first, err)
	}
	for _, name := range files {
		write(name, "evil\n")
		if _, first, err := gate.Unaccepted(project, files); err != nil || first != name {
			t.Errorf("%s changed, and %q is not accepted: %v", name, first, err)
		}
		testkit.Attack(t, "drivers", "exchange "+name)
		review := testkit.Must(gate.Review())(t)
		testkit.OK(t, gate.Accept(t.Context(), review))
	}
}
