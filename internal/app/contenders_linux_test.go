package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// besideModel is the model that all of them ask, where they can be told which.
const besideModel = "anthropic/claude-opus-4-7"

// base is where the model is.
func (a *abroad) base() string { return strings.TrimPrefix(setting(a.env, "BASE="), "BASE=") }

// own is a command line of ramet's.
func (a *abroad) own(args ...string) []string { return append([]string{a.exe, "--db", a.db}, args...) }

var contenders = []contender{
	{name: "ramet",
		turn: func(a *abroad, prompt string) (string, []string) {
			return "", a.own("exec", "--model", besideModel, "--allow", "bash", prompt)
		},
		ui:    func(a *abroad) []string { return a.own() },
		shell: `bash {"command":%q}`,
		settle: func(t *testing.T, a *abroad) {
			a.env = append(a.env, "RAMET_MODEL="+besideModel, "RAMET_START=last")
		},
		long: func(t *testing.T, a *abroad, messages int) (_, _ func(int, string) [][]string) {
			longHistory(t, a, messages)
			return func(_ int, prompt string) [][]string {
					return [][]string{a.own("exec", "long", "--model", besideModel, prompt)}
				}, func(n int, prompt string) [][]string {
					child := fmt.Sprintf("child%d", n)
					return [][]string{a.own("fork", "long", "--name", child), a.own("exec", child, "--model", besideModel, prompt)}
				}
		}},
	{name: "Claude Code", pack: "@anthropic-ai/claude-code",
		turn: func(_ *abroad, prompt string) (string, []string) {
			return prompt, []string{"claude", "-p", "--allowedTools", "Bash"}
		},
		ui:    func(*abroad) []string { return []string{"claude"} },
		shell: `Bash {"command":%q,"description":"run it"}`,
		settle: func(t *testing.T, a *abroad) {
			a.file(t, filepath.Join(a.home, ".claude.json"), fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark","bypassPermissionsModeAccepted":true,
"customApiKeyResponses":{"approved":["sk-none-0123456789"],"rejected":[]},"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, a.dir))
		},
		long: func(t *testing.T, a *abroad, messages int) (_, _ func(int, string) [][]string) {
			id := exported(t, a, messages, "claude")
			return func(_ int, prompt string) [][]string {
					return [][]string{{"claude", "-p", "--resume", id, prompt}}
				}, func(_ int, prompt string) [][]string {
					return [][]string{{"claude", "-p", "--resume", id, "--fork-session", prompt}}
				}
		}},
	{name: "Codex", pack: "@openai/codex",
		turn: func(_ *abroad, prompt string) (string, []string) {
			return "", []string{"codex", "exec", "--skip-git-repo-check", prompt}
		},
		ui:    func(*abroad) []string { return []string{"codex"} },
		shell: `exec_command {"cmd":%q,"yield_time_ms":30000}`,
		settle: func(t *testing.T, a *abroad) {
			a.file(t, filepath.Join(a.home, ".codex", "config.toml"), fmt.Sprintf(`model = "gpt-5.1-codex"
model_provider = "ours"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.ours]
name = "ours"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OUR_KEY"
[projects.%q]
trust_level = "trusted"
`, a.base(), a.dir))
		},
		long: func(t *testing.T, a *abroad, messages int) (_, _ func(int, string) [][]string) {
			id := exported(t, a, messages, "codex")
			line := func(how string) func(int, string) [][]string {
				return func(_ int, prompt string) [][]string {
					return [][]string{{"codex", "exec", how, id, "--skip-git-repo-check", prompt}}
				}
			}
			return line("resume"), line("fork")
		}},
	{name: "opencode", pack: "opencode-ai",
		turn:  func(_ *abroad, prompt string) (string, []string) { return prompt, []string{"opencode", "run"} },
		ui:    func(*abroad) []string { return []string{"opencode"} },
		shell: `bash {"command":%q,"description":"run it"}`,
		settle: func(t *testing.T, a *abroad) {
			a.env = append(a.env, "OPENCODE_DISABLE_MODELS_FETCH=1")
			a.file(t, filepath.Join(a.home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{"autoupdate":false,"model":%q,"provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"sk-none"},
"models":{"claude-opus-4-7":{"name":"x","cost":{"input":5,"output":25},"limit":{"context":200000,"output":8000}}}}},"permission":{"bash":"allow"}}`, besideModel, a.base()))
		}},
	{name: "Gemini CLI", pack: "@google/gemini-cli",
		turn: func(_ *abroad, prompt string) (string, []string) {
			return "", []string{"gemini", "--yolo", "-p", prompt}
		},
		ui:    func(*abroad) []string { return []string{"gemini"} },
		shell: `run_shell_command {"command":%q,"description":"run it"}`,
		settle: func(t *testing.T, a *abroad) {
			a.env = append(a.env, "GOOGLE_GEMINI_BASE_URL="+a.base(), "GEMINI_API_KEY=sk-none", "GEMINI_CLI_TRUST_WORKSPACE=true")
			a.file(t, filepath.Join(a.home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}`)
		}},
	{name: "pi", pack: "@mariozechner/pi-coding-agent",
		turn: func(_ *abroad, prompt string) (string, []string) {
			return "", []string{"pi", "-p", "--provider", "ours", "--model", "claude-opus-4-7", prompt}
		},
		ui:    func(*abroad) []string { return []string{"pi", "--provider", "ours", "--model", "claude-opus-4-7"} },
		shell: `bash {"command":%q}`,
		settle: func(t *testing.T, a *abroad) {
			a.file(t, filepath.Join(a.home, ".pi", "agent", "models.json"), fmt.Sprintf(`{"providers":{"ours":{"baseUrl":%q,"api":"anthropic-messages","apiKey":"sk-none","models":[{"id":"claude-opus-4-7","name":"x",
"reasoning":true,"input":["text","image"],"contextWindow":1000000,"maxTokens":8000,"cost":{"input":5,"output":25,"cacheRead":0.5,"cacheWrite":6}}]}}}`, a.base()))
		},
		long: func(t *testing.T, a *abroad, messages int) (_, _ func(int, string) [][]string) {
			path := exported(t, a, messages, "pi")
			line := func(how string) func(int, string) [][]string {
				return func(_ int, prompt string) [][]string {
					return [][]string{{"pi", "-p", "--provider", "ours", "--model", "claude-opus-4-7", how, path, prompt}}
				}
			}
			return line("--session"), line("--fork")
		}},
}

// longHistory makes an agent of ramet's with so many messages.
func longHistory(t *testing.T, a *abroad, messages int) {
	t.Helper()
	ws := testkit.Must(sqlite.Open(t.Context(), a.db, sqlite.Options{Cwd: a.dir}))(t)
	defer ws.Close()
	zero := testkit.Must(ws.Zero(t.Context()))(t)
	who := id.NewAgent()
	testkit.Must(ws.Fork(t.Context(), registry.Fork{Parent: zero.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: who, Name: "long"}}}))(t)
	var drafts []history.Draft
	for i := range messages {
		kind := history.User
		if i%2 == 1 {
			kind = history.Assistant
		}
		said := testkit.Must(history.Say(kind, fmt.Sprintf("the word of message %d is said", i)))(t)
		if drafts = append(drafts, said); len(drafts) == 500 || i == messages-1 {
			testkit.Must(ws.Append(t.Context(), who, agent.Passing(), drafts...))(t)
			drafts = nil
		}
	}
}

// exported is a session of a program's own with so many messages.
func exported(t *testing.T, a *abroad, messages int, program string) string {
	t.Helper()
	longHistory(t, a, messages)
	told := a.here(t, "export", "long", "--to", program)
	m := opens.FindStringSubmatch(told)
	if m == nil {
		t.Fatalf("export says %q", told)
	}
	return strings.Trim(m[1], `'"`)
}
