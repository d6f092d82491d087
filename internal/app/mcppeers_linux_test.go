package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/testkit"
)

// chainModel is a peerModel that does several calls of one message, one after the other.
type chainModel struct {
	peerModel
	mu   sync.Mutex
	done int    // results of the newest chain
	last string // the newest of them
}

func (m *chainModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Messages []json.RawMessage
		Input    []json.RawMessage
	}
	json.Unmarshal(body, &q)
	all := append(q.Messages, q.Input...)
	calls, done := chainOf(all)
	if len(calls) > 1 {
		m.mu.Lock()
		m.done, m.last = done, string(all[len(all)-1])
		m.mu.Unlock()
		next := "that was all"
		if done < len(calls) {
			next = calls[done]
		}
		content := []any{map[string]any{"type": "text", "text": next}}
		one := []any{map[string]any{"type": "message", "role": "user", "content": content}}
		body, _ = json.Marshal(map[string]any{"stream": true, "messages": one, "input": one, "tools": []any{map[string]any{"input_schema": map[string]any{}}}})
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.peerModel.ServeHTTP(w, r)
}

// chainOf finds the newest message that wants calls, and how many results came since.
func chainOf(all []json.RawMessage) (calls []string, done int) {
	for i := len(all) - 1; i >= 0; i-- {
		var one struct {
			Type, Role string
			Content    json.RawMessage
		}
		json.Unmarshal(all[i], &one)
		if strings.HasSuffix(one.Type, "_output") {
			done++
		}
		var parts []struct{ Type, Text string }
		if json.Unmarshal(one.Content, &parts) != nil {
			var text string
			json.Unmarshal(one.Content, &text)
			parts = append(parts, struct{ Type, Text string }{"text", text})
		}
		for _, p := range parts {
			if p.Type == "tool_result" {
				done++
			}
			if one.Role == "user" {
				calls = append(calls, peerCall.FindAllString(p.Text, -1)...)
			}
		}
		if len(calls) > 0 {
			return calls, done
		}
	}
	return nil, 0
}

// letterFrom forks a child of ramet's own, waits for its letter and reads it, in tools of a program's names.
func letterFrom(prefix string) string {
	return "call " + prefix + `fork {"name":"kid","prompt":"say something","model":"anthropic/claude-sonnet-4-6"}` + "\n" +
		"call " + prefix + `wait {}` + "\n" + "call " + prefix + `read {}`
}

// mcpAbroad is a program from npm that has ramet as an MCP server, and its model.
func mcpAbroad(t *testing.T, name string) (a *abroad, model *chainModel, server []string) {
	t.Helper()
	a = newAbroad(t, name)
	model = &chainModel{}
	srv := httptest.NewServer(model)
	t.Cleanup(srv.Close)
	a.env = append(a.env, "ANTHROPIC_BASE_URL="+srv.URL, "BASE="+srv.URL)
	serve := a.command("mcp", "serve")
	server = append([]string{"/usr/bin/env", "-C", a.dir, "-i"}, append(append(serve.Env, "ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=sk-none-0123456789"), serve.Args...)...)
	return a, model, server
}

// heardLetter says whether the program's model was told what the child answered, by a letter that was read.
func heardLetter(t *testing.T, a *abroad, model *chainModel) {
	t.Helper()
	model.mu.Lock()
	defer model.mu.Unlock()
	if model.done != 3 || !strings.Contains(model.last, "answer ") {
		t.Errorf("%d calls were answered, the last with %s", model.done, model.last)
	}
	var all struct {
		Agents []struct {
			Unread int `json:"unread_mail"`
		}
	}
	if err := json.Unmarshal([]byte(a.must(t, "ps", "--json")), &all); err != nil || len(all.Agents) < 2 || all.Agents[0].Unread != 0 {
		t.Errorf("the letter was not read: %+v, %v", all, err)
	}
	if log := a.must(t, "log", "kid", "--own"); !strings.Contains(log, "answer ") {
		t.Errorf("the child did not answer:\n%s", log)
	}
	a.must(t, "verify")
}

// Claude Code as an MCP client forks a child of ramet's, waits, and reads its letter.
func peersClaudeForksOverMCP(t *testing.T) {
	peersSeen.tellAfter(t, "Claude Code, as a client of `ramet mcp serve`, forks a child of ramet's, waits and reads its letter")
	a, model, server := mcpAbroad(t, "@anthropic-ai/claude-code")
	config := testkit.Must(json.Marshal(map[string]any{"mcpServers": map[string]any{"ramet": map[string]any{"command": server[0], "args": server[1:]}}}))(t)
	file := filepath.Join(a.home, "mcp.json")
	a.file(t, file, string(config))
	told := a.says(t, letterFrom("mcp__ramet__"), "claude", "-p", "--output-format", "stream-json", "--verbose", "--mcp-config", file, "--strict-mcp-config", "--allowedTools", "mcp__ramet")
	t.Log(told)
	heardLetter(t, a, model)
}

// So does Codex.
func peersCodexForksOverMCP(t *testing.T) {
	peersSeen.tellAfter(t, "so does Codex")
	a, model, server := mcpAbroad(t, "@openai/codex")
	args := testkit.Must(json.Marshal(server[1:]))(t)
	a.file(t, filepath.Join(a.home, ".codex", "config.toml"), fmt.Sprintf(`model = "gpt-5.1-codex"
model_provider = "ours"
[model_providers.ours]
name = "ours"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OUR_KEY"
[mcp_servers.ramet]
command = %q
args = %s
`, strings.TrimPrefix(setting(a.env, "BASE="), "BASE="), server[0], args))
	told := a.says(t, "", "codex", "exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", letterFrom("mcp__ramet/"))
	t.Log(told)
	heardLetter(t, a, model)
}
