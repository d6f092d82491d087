package app_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

// foreignProgram is a program of others that drives agents here, and how it is tried.
type foreignProgram struct {
	title, pack, bin string
	// holds is where its package has the program, below those of npm; empty: npm makes a link to it.
	holds string
	// config points it at a model, and at a folder of its own.
	config func(base, folder string) string
	// shell is the call with which its model runs a command; free is the one that wants out of a sandbox of its own.
	shell, free string
	// allow is the rule that permits its commands; empty: bash. why is why it is another one.
	allow, why string
	// mute: it does not tell what a command printed.
	mute bool
}

var foreignPrograms = map[string]foreignProgram{
	"claude": {title: "Claude Code", pack: "@agentclientprotocol/claude-agent-acp", bin: "claude-agent-acp",
		config: func(base, _ string) string {
			return fmt.Sprintf("[driver.claude.env]\nANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-none\"\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\"\n", base)
		},
		shell: `Bash {"command":%q,"description":"run it"}`},
	"codex": {title: "Codex", pack: "@agentclientprotocol/codex-acp", bin: "codex-acp",
		config: func(base, folder string) string {
			own := fmt.Sprintf(`{"model":"gpt-5.1-codex","model_provider":"ours","model_providers":{"ours":{"name":"ours","base_url":"%s/v1","wire_api":"responses","env_key":"OUR_KEY"}}}`, base)
			return fmt.Sprintf("[driver.codex.env]\nOUR_KEY = \"sk-none\"\nCODEX_CONFIG = '%s'\nCODEX_HOME = %q\n", own, folder)
		},
		shell: `exec_command {"cmd":%q,"yield_time_ms":30000}`,
		free:  `exec_command {"cmd":%q,"yield_time_ms":30000,"sandbox_permissions":"require_escalated","justification":"may it?"}`},
	"opencode": {title: "opencode", pack: "opencode-ai", bin: "opencode",
		config: func(base, _ string) string {
			own := fmt.Sprintf(`{"autoupdate":false,"model":"anthropic/claude-opus-4-7","provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"sk-none"},"models":{"claude-opus-4-7":{"name":"x","cost":{"input":5,"output":25},"limit":{"context":200000,"output":8000}}}}}}`, base)
			return fmt.Sprintf("[driver.opencode.env]\nOPENCODE_CONFIG_CONTENT = '%s'\nOPENCODE_DISABLE_MODELS_FETCH = \"1\"\n", own)
		},
		shell: `bash {"command":%q,"description":"run it"}`},
	"gemini": {title: "Gemini CLI", pack: "@google/gemini-cli", bin: "gemini",
		config: func(base, _ string) string {
			return fmt.Sprintf("[driver.gemini.env]\nGOOGLE_GEMINI_BASE_URL = %q\nGEMINI_API_KEY = \"sk-none\"\nGEMINI_CLI_TRUST_WORKSPACE = \"true\"\n", base)
		},
		shell: `run_shell_command {"command":%q,"description":"run it"}`,
		allow: "mcp(driver-gemini)", why: "it asks with words about the command, or the command, and does not say which", mute: true},
	"goose": {title: "goose", pack: "@aaif/goose-binary-linux-x64", bin: "goose-binary-linux-x64", holds: "@aaif/goose-binary-linux-x64/bin",
		config: func(base, _ string) string {
			return fmt.Sprintf("[driver.goose.env]\nANTHROPIC_HOST = %q\nANTHROPIC_API_KEY = \"sk-none\"\nGOOSE_PROVIDER = \"anthropic\"\nGOOSE_MODEL = \"claude-opus-4-7\"\nGOOSE_DISABLE_KEYRING = \"1\"\n", base)
		},
		shell: `shell {"command":%q}`},
}

// rule is one that permits commands of these words, if the program tells them; empty: all.
func (p foreignProgram) rule(words string) string {
	if p.allow != "" {
		return p.allow
	}
	if words == "" {
		return "bash"
	}
	return "bash(" + words + ")"
}

// run is what is said to its model so that it runs a command.
func (p foreignProgram) run(command string) string { return "call " + fmt.Sprintf(p.shell, command) }

// asks is run, with a call that asks in any case.
func (p foreignProgram) asks(command string) string {
	if p.free != "" {
		return "call " + fmt.Sprintf(p.free, command)
	}
	return p.run(command)
}

// peer is a program from npm, with the Node that it wants: where both lie. `make peers` asks for it; where it cannot be had, that is said and no more.
func peer(t *testing.T, p foreignProgram) (path string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("RAMET_TEST_PEERS"), "drivers")
	path = filepath.Join(dir, "node_modules", "node", "bin") + ":" + filepath.Join(dir, "node_modules", ".bin")
	if p.holds != "" {
		path += ":" + filepath.Join(dir, "node_modules", p.holds)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", p.bin)); err == nil {
		return path
	}
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	install := exec.CommandContext(t.Context(), "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "node@22", p.pack)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not give it: %v\n%s", err, out)
	}
	return path
}

// peerStage is a stage with a program from npm, and a configuration.
func peerStage(t *testing.T, name, text string) *stage {
	t.Helper()
	t.Setenv("PATH", peer(t, foreignPrograms[name])+":"+os.Getenv("PATH"))
	s := newStage(t, binary(t))
	s.db = filepath.Join(filepath.Dir(s.dir), "kept", "ramet.db") // of a project that holds the home folder no states are taken
	config := filepath.Join(filepath.Dir(s.db), "home", ".config", "ramet")
	testkit.OK(t, os.MkdirAll(config, 0o700))
	testkit.OK(t, os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600))
	return s
}

// drive is a program that drives agents on a stage, beside a model.
type drive struct {
	*stage
	foreignProgram
	name  string
	model *peerModel
}

func newDrive(t *testing.T, name string) *drive {
	t.Helper()
	m := &peerModel{}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	p := foreignPrograms[name]
	return &drive{stage: peerStage(t, name, p.config(srv.URL, t.TempDir())), foreignProgram: p, name: name, model: m}
}

// Each program through all that it is to do: what it did is the table of docs/drivers.md.
func peersDrive(t *testing.T) {
	for _, name := range []string{"claude", "codex", "opencode", "gemini", "goose"} {
		t.Run(name, func(t *testing.T) {
			d := newDrive(t, name)
			for _, row := range driveRows {
				cell := "not tried"
				if !t.Run(row.what, func(t *testing.T) { cell = row.try(t, d) }) {
					cell = "**no**"
				}
				peersSeen.tell(row.what, d.title, cell)
			}
			d.must(t, "verify")
		})
	}
}
