package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// TestPeers runs ramet with programs from npm, each as far as it can be had; a network that
// fails leaves it out.
func TestPeers(t *testing.T) {
	testkit.AskedFor(t, "RAMET_TEST_PEERS", "make peers")
	t.Run("EditWithRamet", peersEditWithRamet)
	t.Run("Inspect", peersInspect)
	t.Run("Beside", peersBeside)
	t.Run("Drive", peersDrive)
	t.Run("Hostile", peersHostile)
	t.Run("Tree", peersTree)
	t.Run("ImportClaude", peersImportClaude)
	t.Run("ImportCodex", peersImportCodex)
	t.Run("ImportPi", peersImportPi)
	t.Run("ImportOpencode", peersImportOpencode)
	t.Run("ClaudeForksOverMCP", peersClaudeForksOverMCP)
	t.Run("CodexForksOverMCP", peersCodexForksOverMCP)
}

// nodePeers are packages of npm, with the Node that they want, as `make peers` asks for them; where
// they cannot be had, that is said and no more.
func nodePeers(t *testing.T, folder string, packages ...string) (node, modules string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("RAMET_TEST_PEERS"), folder)
	modules = filepath.Join(dir, "node_modules")
	node = filepath.Join(modules, "node", "bin", "node")
	name := packages[0][:strings.LastIndex(packages[0], "@")]
	if _, err := os.Stat(filepath.Join(modules, name, "package.json")); err == nil {
		return node, modules
	}
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "node@22"}, packages...)...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not give it: %v\n%s", err, out)
	}
	return node, modules
}

// packageVersion is which version of a package is there.
func packageVersion(t *testing.T, modules, name string) string {
	t.Helper()
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name + " " + p.Version
}

// The TypeScript SDK of the protocol, as an editor, through twelve cases.
func peersEditWithRamet(t *testing.T) {
	peersSeen.tellAfter(t, "the TypeScript SDK of the protocol drives [`ramet acp`](acp.md) through twelve cases")
	node, modules := nodePeers(t, "acp", "@agentclientprotocol/sdk@2")
	s := newStage(t, binary(t))
	gate, _ := s.pipe(t)
	given, err := json.Marshal(map[string]any{
		"sdk":     filepath.Join(modules, "@agentclientprotocol/sdk/dist/v1/unstable/acp.js"),
		"command": []string{s.exe, "--db", s.db, "acp"}, "cwd": s.dir,
		"models": map[string]string{
			"hello": s.script(t, `{"repeat": true, "steps": [{"text": "hello there"}]}`),
			"tools": s.script(t, `{"steps": [{"call": "write", "id": "w1", "args": {"path": "w.txt", "content": "x"}}, {"call": "bash", "id": "b1", "args": {"command": "touch refused"}}]}`, `{"steps": [{"text": "done"}]}`),
			"sleep": s.script(t, `{"steps": [{"call": "bash", "id": "s1", "args": {"command": "sleep 777"}}]}`),
			"wait":  s.script(t, `{"steps": [{"text": "half a word "}, {"wait": "`+gate+`"}]}`),
		}})
	if err != nil {
		t.Fatal(err)
	}
	script := testkit.Must(filepath.Abs("testdata/peers/acp.mjs"))(t)
	cmd := exec.CommandContext(t.Context(), node, script, string(given))
	cmd.Dir, cmd.Env = s.dir, s.command().Env
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "ok "); err != nil || n != 12 {
		t.Fatalf("%d of 12 cases: %v\n%s", n, err, out)
	}
	t.Logf("%s: %s", packageVersion(t, modules, "@agentclientprotocol/sdk"), strings.ReplaceAll(string(out), "\n", "; "))
}

// The inspector of the Model Context Protocol lists every tool and resource, and calls each.
func peersInspect(t *testing.T) {
	peersSeen.tellAfter(t, "the MCP inspector lists and calls each of the twelve tools of `ramet mcp serve`, and reads its resources")
	node, modules := nodePeers(t, "inspector", "@modelcontextprotocol/inspector@0")
	s := newStage(t, binary(t))
	model := s.script(t, `{"repeat": true, "steps": [{"text": "heard"}]}`)
	inspect := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "mcp-inspector"), append([]string{"--cli", s.exe, "mcp", "serve"}, args...)...)
		cmd.Dir = s.dir
		cmd.Env = append(s.command().Env, "RAMET_DB="+s.db, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		if err != nil || strings.Contains(string(out), `"isError": true`) {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(inspect("--method", "tools/list")), &list); err != nil || len(list.Tools) != 12 {
		t.Fatalf("%v: %+v", err, list)
	}
	for _, c := range []struct{ line, says string }{
		{"fork agent=0 name=kid", `kid`},
		{"ps", `kid`},
		{"prompt agent=kid text=hello model=" + model, `heard`},
		{"send to=kid body=hi", `hi`},
		{"mail agent=kid", `hi`},
		{"read agent=kid number=1", `hi`},
		{`wait agents=["kid"] timeout=1`, `kid`},
		{"log agent=kid", `heard`},
		{"track", `entries`},
		{"run do=list", `runs`},
		{"verify", `\"ok\":`},
		{"kill agent=kid", `kid`},
	} {
		words := strings.Fields(c.line)
		args := []string{"--method", "tools/call", "--tool-name", words[0]}
		for _, w := range words[1:] {
			args = append(args, "--tool-arg", w)
		}
		if out := inspect(args...); !strings.Contains(out, c.says) {
			t.Errorf("%s: %s", c.line, out)
		}
	}
	inspect("--method", "resources/list")
	inspect("--method", "resources/templates/list")
	if out := inspect("--method", "resources/read", "--uri", "ramet://agents/0/history?after=0&limit=2"); !strings.Contains(out, "entries") {
		t.Error(out)
	}
	t.Logf("%s: 12 tools listed and called, resources listed and read", packageVersion(t, modules, "@modelcontextprotocol/inspector"))
}
