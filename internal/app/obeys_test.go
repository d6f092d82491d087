package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	obeyedFiles = []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".codex/config.toml",
		"opencode.json", "opencode.jsonc", ".opencode/plugin/*", ".gemini/settings.json"}
	obeyedCommand = regexp.MustCompile(`"?command"? *[:=] *"([^"]*)"`)
)

// obey runs the commands that the files of a folder name, as Claude Code, Codex, opencode and Gemini do
// it for their hooks, plugins and servers, unless a session is told to load the user's settings alone.
func obey(dir, meta string, patterns ...string) {
	if os.Getenv("ACPAGENT_OBEYS") == "" || strings.Contains(meta, `"settingSources":["user"]`) {
		return
	}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, found := range obeyedCommand.FindAllStringSubmatch(string(text), -1) {
				run := exec.Command("sh", "-c", found[1])
				run.Dir = dir
				_ = run.Run()
			}
		}
	}
}
