package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// peer is a program from npm that speaks the Agent Client Protocol, with the Node that it wants. `make
// peers` asks for it; where it cannot be had, that is said and no more.
func peer(t *testing.T, name string) (path string) {
	t.Helper()
	dir := os.Getenv("RAMET_TEST_PEERS")
	if dir == "" {
		t.Skip("make peers runs this")
	}
	dir = filepath.Join(dir, "drivers")
	path = filepath.Join(dir, "node_modules", "node", "bin") + ":" + filepath.Join(dir, "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", name)); err == nil {
		return path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "node@22", "@agentclientprotocol/"+name)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not give it: %v\n%s", err, out)
	}
	return path
}

var (
	runLine = regexp.MustCompile(`(?m)^run (.*)$`)
	useLine = regexp.MustCompile(`(?m)^use (\S+) (.*)$`)
)

// messagesServer answers as Anthropic's API does: "run COMMAND" with a call of Bash, "use TOOL INPUT" with one of that, "loop" with calls of
// it for ever, anything else with words. served counts the tokens, of which it says that it read so many.
func messagesServer(t *testing.T, served *atomic.Int64, reads int64) string {
	t.Helper()
	var n atomic.Int64
	var loops atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Stream   bool
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
			Tools []struct{ Name string }
		}
		json.NewDecoder(r.Body).Decode(&q)
		if r.URL.Path != "/v1/messages" || len(q.Messages) == 0 || !q.Stream {
			fmt.Fprint(w, `{"input_tokens":1}`)
			return
		}
		served.Add(reads + 7)
		type part struct{ Type, Text string }
		var parts []part
		for i := len(q.Messages) - 1; i >= 0 && q.Messages[i].Role != "assistant"; i-- { // all since it spoke
			var some []part
			if content := q.Messages[i].Content; json.Unmarshal(content, &some) != nil {
				var text string
				json.Unmarshal(content, &text)
				some = []part{{"text", text}}
			}
			parts = append(parts, some...)
		}
		line, seen := "", false
		use := []string(nil)
		for _, p := range parts {
			seen = seen || p.Type == "tool_result"
			if again := strings.TrimSpace(p.Text) == "loop"; again {
				loops.Store(true)
			}
			if m := runLine.FindStringSubmatch(p.Text); m != nil && p.Type == "text" {
				line = m[1]
			}
			if m := useLine.FindStringSubmatch(p.Text); m != nil && p.Type == "text" {
				use = m
			}
		}
		if loops.Load() {
			line, seen = "true", false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(kind, rest string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
		id := n.Add(1)
		say("message_start", fmt.Sprintf(`,"message":{"id":"m%d","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, id, q.Model, reads))
		stop := "end_turn"
		if (line != "" || use != nil) && !seen {
			stop = "tool_use"
			tool := "Bash"
			input, _ := json.Marshal(map[string]string{"command": line, "description": "run it"})
			if use != nil {
				tool, input = use[1], []byte(use[2])
			}
			raw, _ := json.Marshal(string(input))
			say("content_block_start", fmt.Sprintf(`,"index":0,"content_block":{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, id, tool))
			say("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"input_json_delta","partial_json":%s}`, raw))
		} else {
			say("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
			say("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":"answer %d"}`, id))
		}
		say("content_block_stop", `,"index":0`)
		say("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"input_tokens":%d,"output_tokens":7}`, stop, reads))
		say("message_stop", "")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// claudeStage is a stage with Claude Code, whose model is elsewhere.
func claudeStage(t *testing.T, base string) *stage {
	t.Helper()
	return peerStage(t, "claude-agent-acp", fmt.Sprintf("[driver.claude.env]\nANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-none\"\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\"\n", base))
}

// peerStage is a stage with a program from npm, and a configuration.
func peerStage(t *testing.T, program, text string) *stage {
	t.Helper()
	t.Setenv("PATH", peer(t, program)+":"+os.Getenv("PATH"))
	s := newStage(t, binary(t))
	config := filepath.Join(filepath.Dir(s.db), "home", ".config", "ramet")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Claude Code itself: a turn, a call that is refused and one that is permitted, a child in a fork of
// its session, a stop in the middle of a command; and what we counted is what was served.
func TestPeersDriveAgents(t *testing.T) {
	var served atomic.Int64
	s := claudeStage(t, messagesServer(t, &served, 50))
	t.Log(s.must(t, "drivers", "claude"))
	if told := s.must(t, "exec", "--driver", "claude", "hello"); !strings.Contains(told, "answer") {
		t.Errorf("it says %q", told)
	}
	if out := s.ramet("exec", "run touch refused"); out.code != 7 {
		t.Errorf("exit code %d: %s", out.code, out.stderr)
	}
	s.must(t, "exec", "--allow", "bash(touch *)", "run touch permitted")
	for name, want := range map[string]bool{"refused": false, "permitted": true} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.must(t, "fork", "--name", "kid")
	s.must(t, "exec", "kid", "hello again")
	if log := s.must(t, "log", "kid", "--own", "--json"); !strings.Contains(log, `"from":`) || strings.Contains(log, `"rendered":true`) {
		t.Errorf("it is no fork of the session:\n%s", log)
	}
	var all struct {
		Agents []struct {
			Spent struct{ Tokens int64 }
		}
	}
	if err := json.Unmarshal([]byte(s.must(t, "ps", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, a := range all.Agents {
		sum += a.Spent.Tokens
	}
	if sum != served.Load() {
		t.Errorf("%d tokens are counted, and %d were served", sum, served.Load())
	}
	r := s.exec(t, "kid", "run touch begun; sleep 777")
	r.hangs(t, filepath.Join(s.dir, "begun"))
	r.cmd.Process.Signal(syscall.SIGINT)
	r.end(t, 130)
	if err := s.quiet(patience); err != nil {
		t.Error(err)
	}
	s.must(t, "verify")
}
