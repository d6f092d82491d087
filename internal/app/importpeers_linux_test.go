package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// abroad is a stage where programs of others have a home, and a model.
type abroad struct {
	*stage
	model *peerModel
	home  string
	env   []string
}

// newAbroad installs a program from npm, and gives it a home.
func newAbroad(t *testing.T, name string) *abroad {
	t.Helper()
	node, modules := nodePeers(t, "import", name+"@latest")
	t.Log(packageVersion(t, modules, name))
	return abroadWith(t, filepath.Dir(node)+":"+filepath.Join(modules, ".bin"))
}

// abroadWith gives the programs that lie at a path a home, and a model.
func abroadWith(t *testing.T, path string) *abroad {
	t.Helper()
	m := &peerModel{}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	a := &abroad{stage: newStage(t, binary(t)), model: m}
	a.home = filepath.Join(filepath.Dir(a.db), "abroad")
	a.env = append(os.Environ(), "HOME="+a.home, "PATH="+path+":"+os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=sk-none-0123456789", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"OUR_KEY=sk-none", "PI_OFFLINE=1", "CODEX_HOME="+filepath.Join(a.home, ".codex"), "BASE="+srv.URL)
	a.file(t, filepath.Join(a.dir, "a.txt"), "hello\n")
	picture := testkit.Must(base64.StdEncoding.DecodeString(onePixel))(t)
	a.file(t, filepath.Join(a.dir, "x.png"), string(picture))
	return a
}

// onePixel is a picture.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func (a *abroad) file(t *testing.T, path, text string) {
	t.Helper()
	testkit.WriteFile(t, path, text)
}

// program is a command of the other program.
func (a *abroad) program(stdin string, args ...string) *exec.Cmd {
	path := args[0]
	for _, dir := range filepath.SplitList(strings.TrimPrefix(setting(a.env, "PATH="), "PATH=")) {
		if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
			path = filepath.Join(dir, args[0])
			break
		}
	}
	c := exec.Command(path, args[1:]...)
	c.Dir, c.Env, c.Stdin = a.dir, a.env, strings.NewReader(stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func setting(env []string, prefix string) string {
	out := ""
	for _, one := range env {
		if strings.HasPrefix(one, prefix) {
			out = one
		}
	}
	return out
}

// says lets it do something to the end.
func (a *abroad) says(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := a.program(stdin, args...)
	c.Stdout, c.Stderr = &out, &out
	done := time.AfterFunc(4*time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	defer done.Stop()
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// crashes lets it ask the model, which never answers, and kills it then.
func (a *abroad) crashes(t *testing.T, stdin string, args ...string) {
	t.Helper()
	c := a.program(stdin, args...)
	testkit.OK(t, c.Start())
	testkit.WaitUntil(t, "its model is asked", func() bool { return strings.Contains(a.model.asked(), "hang now") })
	syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	c.Wait()
}

// here runs ramet with the other program's home.
func (a *abroad) here(t *testing.T, args ...string) string {
	t.Helper()
	c := a.command(args...)
	c.Env = append(c.Env, "HOME="+a.home, setting(a.env, "CODEX_HOME="), setting(a.env, "ANTHROPIC_BASE_URL="), setting(a.env, "ANTHROPIC_API_KEY="))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("ramet %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// taken is a session as it was imported.
type taken struct {
	Session, Path, Name string
	Agent               string `json:"agent_uuid"`
	Of                  *string
	Entries, Branches   int
	Lines, Taken        int64
	Skipped             map[string]int64
	Used                struct{ Tokens int64 }
	Notes               []string
}

// bring imports everything, and holds it against its files: every line is in an entry, or was skipped for a
// reason; nothing is new the second time.
func (a *abroad) bring(t *testing.T, program string) []taken {
	t.Helper()
	type imports struct {
		Imported []taken
		Failed   []struct{ Path, Why string }
	}
	var first, again imports
	for _, out := range []*imports{&first, &again} {
		testkit.OK(t, json.Unmarshal([]byte(a.here(t, "import", program, "--all", "--json")), out))
		for _, f := range out.Failed {
			t.Errorf("%s was not imported: %s", f.Path, f.Why)
		}
	}
	for i, one := range first.Imported {
		sum := one.Taken
		for _, n := range one.Skipped {
			sum += n
		}
		if sum != one.Lines || one.Skipped["no JSON of the program"] > 0 {
			t.Errorf("%s: of %d lines %d were taken, and skipped %v", one.Path, one.Lines, one.Taken, one.Skipped)
		}
		if one.Of == nil && one.Used.Tokens == 0 { // a sub-agent may have ended before it was answered
			t.Errorf("%s: it does not tell what was used", one.Path)
		}
		if again.Imported[i].Entries != 0 {
			t.Errorf("%s: %d entries were written again", one.Path, again.Imported[i].Entries)
		}
		a.here(t, "verify", "--source", one.Path)
		t.Logf("%s: %d lines, %d taken, skipped %v, %d branches, part of %v, %d tokens, notes %v", one.Session, one.Lines, one.Taken, one.Skipped, one.Branches, one.Of != nil, one.Used.Tokens, one.Notes)
	}
	t.Log(a.here(t, "ps"))
	return first.Imported
}

// behindItsCall looks for a sub-agent that stands behind its call, with the work that it did.
func (a *abroad) behindItsCall(t *testing.T, all []taken) {
	t.Helper()
	for _, one := range all {
		if one.Of == nil {
			continue
		}
		log := a.here(t, "log", one.Agent, "--own", "--json")
		if !strings.Contains(log, `"kind":"rewind"`) || !strings.Contains(log, `"call":"`) || !strings.Contains(log, "echo sub") {
			t.Errorf("the sub-agent does not stand behind its call:\n%s", log)
		}
		return
	}
	t.Error("there is no sub-agent")
}

var opens = regexp.MustCompile(`(?m)^open it with: .* (\S+)$`)

// goesOn continues a session by one turn here, and writes it for the program; what it is called there.
func (a *abroad) goesOn(t *testing.T, who, program string) string {
	t.Helper()
	if told := a.here(t, "exec", who, "--model", "anthropic/claude-opus-4-7", "we went on"); !strings.Contains(told, "answer") {
		t.Errorf("it says %q", told)
	}
	told := a.here(t, "export", who, "--to", program)
	m := opens.FindStringSubmatch(told)
	if m == nil {
		t.Fatalf("export says %q", told)
	}
	return strings.Trim(m[1], `'"`)
}

// heard says that the program told the model what was said here.
func (a *abroad) heard(t *testing.T) {
	t.Helper()
	if asked := a.model.asked(); !strings.Contains(asked, "we went on") || !strings.Contains(asked, "there again") {
		t.Errorf("the program did not go on with what was said here:\n%.3000s", asked)
	}
}

// rootOf is the first session that is no part of another.
func rootOf(t *testing.T, all []taken, id string) taken {
	t.Helper()
	for _, one := range all {
		if one.Of == nil && (id == "" || one.Session == id) {
			return one
		}
	}
	t.Fatal("it is not there")
	return taken{}
}

// Claude Code: thinking and tools, a sub-agent, a fork, a picture, going back, a crash, a compaction.
func peersImportClaude(t *testing.T) {
	a := newAbroad(t, "@anthropic-ai/claude-code")
	claude := func(stdin string, more ...string) string {
		return a.says(t, stdin, append([]string{"claude", "-p", "--output-format", "json", "--allowedTools", "Bash,Agent,Task"}, more...)...)
	}
	var told struct {
		Session string `json:"session_id"`
	}
	out := claude("think\n" + `call Bash {"command":"cat a.txt","description":"look"}`)
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &told); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := told.Session
	claude(`call Agent {"description":"look","prompt":"call Bash {\"command\":\"echo sub\",\"description\":\"s\"}","subagent_type":"general-purpose","run_in_background":false}`, "--resume", id)
	claude("another way", "--resume", id, "--fork-session")
	a.says(t, fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}}`+"\n", onePixel),
		"claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--resume", id)
	claude("taken back", "--resume", id, "--resume-session-at", firstAnswer(t, a.home, id))
	a.crashes(t, "hang now", "claude", "-p", "--resume", id)
	claude("/compact", "--resume", id)
	claude("after it", "--resume", id)
	all := a.bring(t, "claude")
	a.behindItsCall(t, all)
	root := rootOf(t, all, id)
	if log := a.here(t, "log", root.Agent, "--own"); !strings.Contains(log, "compact") || !strings.Contains(log, "hang now") {
		t.Errorf("its log lacks something:\n%s", log)
	}
	name := a.goesOn(t, root.Agent, "claude")
	claude("there again", "--resume", name)
	a.heard(t)
}

// firstAnswer is the id of the line of the first answer in words.
func firstAnswer(t *testing.T, home, session string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", session+".jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	text := testkit.Must(os.ReadFile(paths[0]))(t)
	for line := range strings.Lines(string(text)) {
		var l struct{ Type, UUID string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "assistant" && strings.Contains(line, `"text":"answer`) {
			return l.UUID
		}
	}
	t.Fatal("there is no answer")
	return ""
}

// Codex: thinking and tools, a sub-agent, a fork, a picture, a crash, a compaction.
func peersImportCodex(t *testing.T) {
	a := newAbroad(t, "@openai/codex")
	a.file(t, filepath.Join(a.home, ".codex", "config.toml"), fmt.Sprintf(`model = "gpt-5.1-codex"
model_provider = "ours"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_auto_compact_token_limit = 50000
[model_providers.ours]
name = "ours"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OUR_KEY"
[features]
multi_agent = true
`, strings.TrimPrefix(setting(a.env, "BASE="), "BASE=")))
	codex := func(args ...string) string { return a.says(t, "", append([]string{"codex", "exec"}, args...)...) }
	codex("--skip-git-repo-check", "think\n"+`call exec_command {"cmd":"cat a.txt"}`)
	paths, err := filepath.Glob(filepath.Join(a.home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	id := strings.TrimSuffix(paths[0], ".jsonl")
	id = id[len(id)-len("01a1e2f2-f42a-7fa1-9d56-5809fbfecbda"):]
	codex("resume", id, "--skip-git-repo-check", `call multi_agent_v1/spawn_agent {"message":"call exec_command {\"cmd\":\"echo sub\"}"}`)
	codex("fork", id, "--skip-git-repo-check", "another way")
	codex("resume", id, "--skip-git-repo-check", "-i", "x.png", "see")
	codex("resume", id, "--skip-git-repo-check", "be large")
	codex("resume", id, "--skip-git-repo-check", "after it")
	a.crashes(t, "", "codex", "exec", "resume", id, "--skip-git-repo-check", "hang now")
	all := a.bring(t, "codex")
	root := rootOf(t, all, id)
	log := a.here(t, "log", root.Agent, "--own")
	for _, want := range []string{"compact", "spawn_agent", "hang now"} {
		if !strings.Contains(log, want) {
			t.Errorf("its log lacks %s:\n%s", want, log)
		}
	}
	a.behindItsCall(t, all)
	for _, one := range all {
		if one.Of != nil || one.Session == id {
			continue
		}
		own, whole := a.here(t, "log", one.Agent, "--own", "--json"), a.here(t, "log", one.Agent)
		if !strings.Contains(own, `"kind":"rewind"`) || strings.Contains(own, "cat a.txt") || !strings.Contains(whole, "cat a.txt") || !strings.Contains(whole, "another way") || one.Used.Tokens != 57 {
			t.Errorf("the fork is none by reference, or counts what its original used: %d tokens\n%s", one.Used.Tokens, own)
		}
	}
	name := a.goesOn(t, root.Agent, "codex")
	codex("resume", name, "--skip-git-repo-check", "there again")
	a.heard(t)
}

// pi: thinking and tools, a picture, a fork, a crash.
func peersImportPi(t *testing.T) {
	a := newAbroad(t, "@mariozechner/pi-coding-agent")
	a.file(t, filepath.Join(a.home, ".pi", "agent", "models.json"), fmt.Sprintf(`{"providers":{"ours":{"baseUrl":%q,"api":"anthropic-messages","apiKey":"sk-none","models":[{"id":"claude-opus-4-7","name":"x",
"reasoning":true,"input":["text","image"],"contextWindow":200000,"maxTokens":8000,"cost":{"input":5,"output":25,"cacheRead":0.5,"cacheWrite":6}}]}}}`, strings.TrimPrefix(setting(a.env, "BASE="), "BASE=")))
	pi := func(args ...string) string {
		return a.says(t, "", append([]string{"pi", "-p", "--provider", "ours", "--model", "claude-opus-4-7"}, args...)...)
	}
	pi("think\n" + `call bash {"command":"cat a.txt"}`)
	pi("-c", "@x.png", "see")
	paths, err := filepath.Glob(filepath.Join(a.home, ".pi", "agent", "sessions", "*", "*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	pi("--fork", paths[0], "another way")
	a.crashes(t, "", "pi", "-p", "--provider", "ours", "--model", "claude-opus-4-7", "--session", paths[0], "hang now")
	all := a.bring(t, "pi")
	root := rootOf(t, all, "")
	if log := a.here(t, "log", root.Agent, "--own", "--json"); !strings.Contains(log, `"type":"image"`) {
		t.Errorf("its log lacks the picture:\n%s", log)
	}
	name := a.goesOn(t, root.Agent, "pi")
	pi("--session", name, "there again")
	a.heard(t)
}

// opencode: thinking and tools, a sub-agent, a fork, a crash.
func peersImportOpencode(t *testing.T) {
	a := newAbroad(t, "opencode-ai")
	a.file(t, filepath.Join(a.home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{"autoupdate":false,"model":"anthropic/claude-opus-4-7","provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"sk-none"},
"models":{"claude-opus-4-7":{"name":"x","cost":{"input":5,"output":25},"limit":{"context":200000,"output":8000}}}}},"permission":{"bash":"allow","task":"allow"}}`, strings.TrimPrefix(setting(a.env, "BASE="), "BASE=")))
	opencode := func(stdin string, args ...string) string {
		return a.says(t, stdin, append([]string{"opencode", "run"}, args...)...)
	}
	opencode("think\n" + `call bash {"command":"cat a.txt","description":"look"}`)
	opencode(`call task {"description":"look","prompt":"call bash {\"command\":\"echo sub\",\"description\":\"s\"}","subagent_type":"general"}`, "-c")
	opencode("another way", "-c", "--fork")
	a.crashes(t, "hang now", "opencode", "run", "-c")
	all := a.bring(t, "opencode")
	a.behindItsCall(t, all)
	root := rootOf(t, all, "")
	if told := a.here(t, "exec", root.Agent, "--model", "anthropic/claude-opus-4-7", "we went on"); !strings.Contains(told, "answer") {
		t.Errorf("it says %q", told)
	}
}
