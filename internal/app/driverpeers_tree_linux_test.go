package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A tree ramet → Claude Code → Codex: Claude forks Codex with ramet's tool and prompts it; a kill of the tree in the
// middle of Claude's command leaves nothing of either alive.
func TestPeersTree(t *testing.T) {
	var served atomic.Int64
	peer(t, "codex-acp")
	codex := fmt.Sprintf(`{"model":"gpt-5.1-codex","model_provider":"ours","model_providers":{"ours":{"name":"ours","base_url":"%s/v1","wire_api":"responses","env_key":"OUR_KEY"}}}`, responsesServer(t, &served, 50))
	s := peerStage(t, "claude-agent-acp", fmt.Sprintf("[driver.claude.env]\nANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-none\"\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\"\n", messagesServer(t, &served, 50))+
		fmt.Sprintf("[driver.codex.env]\nOUR_KEY = \"sk-none\"\nCODEX_CONFIG = '%s'\nCODEX_HOME = %q\n", codex, t.TempDir()))
	s.must(t, "fork", "--name", "top", "--driver", "claude")
	t.Log(s.must(t, "exec", "top", `use mcp__ramet__fork {"name":"below","driver":"codex"}`))
	if all := s.must(t, "ps"); !strings.Contains(all, "below") {
		t.Fatalf("it forked nobody:\n%s\n%s", all, s.must(t, "log", "top", "--own", "--json"))
	}
	t.Log(s.must(t, "exec", "top", `use mcp__ramet__prompt {"agent":"below","text":"hello"}`))
	if log := s.must(t, "log", "below", "--own", "--json"); !strings.Contains(log, "answer r") {
		t.Errorf("Codex did not answer Claude:\n%s", log)
	}
	r := s.exec(t, "top", "--allow", "bash", "run touch above; sleep 777")
	r.hangs(t, filepath.Join(s.dir, "above"))
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
	s.must(t, "verify")
}
