package app_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tree ramet → Claude Code → Codex: Claude forks Codex with ramet's tool and prompts it, Codex mails up, and a kill of
// the tree while Codex's command runs, inside Codex's own sandbox inside our namespace, leaves nothing of either alive.
func peersTree(t *testing.T) {
	peersSeen.tellAfter(t, "a tree ramet → Claude Code → Codex: Claude forks and prompts Codex with ramet's tools, Codex mails up, Claude reads; `kill --cascade` in the middle of Codex's command leaves nothing")
	peer(t, foreignPrograms["codex"])
	model := httptest.NewServer(&peerModel{})
	t.Cleanup(model.Close)
	s := peerStage(t, "claude", foreignPrograms["claude"].config(model.URL, t.TempDir())+foreignPrograms["codex"].config(model.URL, t.TempDir()))
	s.must(t, "fork", "--name", "top", "--driver", "claude")
	t.Log(s.must(t, "exec", "top", "--allow", "fork(codex)", `call mcp__ramet__fork {"name":"below","driver":"codex"}`))
	if all := s.must(t, "ps"); !strings.Contains(all, "below") {
		t.Fatalf("it forked nobody:\n%s\n%s", all, s.must(t, "log", "top", "--own", "--json"))
	}
	// 9: a letter came up that Claude did not read; then it does.
	up := s.ramet("exec", "top", `call mcp__ramet__prompt {"agent":"below","text":"call mcp__ramet/send {\"to\":\"top\",\"body\":\"all is well below\"}"}`)
	if up.code != 9 || !strings.Contains(up.stdout+up.stderr, "all is well below") {
		t.Errorf("no letter came up: %d %s %s\n%s", up.code, up.stdout, up.stderr, s.must(t, "log", "below", "--own", "--json"))
	}
	s.must(t, "exec", "top", `call mcp__ramet__read {}`)
	if log := s.must(t, "log", "top", "--own", "--json"); !strings.Contains(log, "all is well below") {
		t.Errorf("Claude did not read it:\n%s", log)
	}
	long := fmt.Sprintf("8%d7", os.Getpid()) // seconds; nobody else's
	r := s.exec(t, "top", fmt.Sprintf(`call mcp__ramet__prompt {"agent":"below","text":"call exec_command {\"cmd\":\"touch below; sleep %s\",\"yield_time_ms\":30000}"}`, long))
	eventually(t, "Codex's command runs", func() bool { return len(commandLines("sleep\x00"+long)) > 0 })
	if _, err := os.Stat(filepath.Join(s.dir, "below")); err == nil {
		t.Error("Codex's own sandbox let it write")
	}
	t.Log(s.must(t, "ps"))
	s.must(t, "kill", "top", "--cascade")
	if !r.ends() {
		t.Errorf("it does not end:%s", r.told())
	}
	if all := s.must(t, "ps"); strings.Contains(all, "top") || strings.Contains(all, "below") {
		t.Errorf("they live:\n%s", all)
	}
	if err := s.quiet(patience); err != nil {
		t.Error(err)
	}
	if left := commandLines(long); len(left) > 0 {
		t.Errorf("these run: %v", left)
	}
	s.must(t, "verify")
}

// commandLines are the processes whose command line holds a text.
func commandLines(text string) (out []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), text) {
			out = append(out, path)
		}
	}
	return out
}
