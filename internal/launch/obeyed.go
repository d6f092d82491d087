package launch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Row lists what a program obeys, unasked, in its working folder: names that make it execute
// something, or that change where it sends what. Texts that only its model reads (CLAUDE.md,
// AGENTS.md, GEMINI.md, .goosehints) are not among them.
type Row struct {
	Program     string   // as its preset or its command is called
	Package     string   // the npm package that the versions are of
	From, Below string   // the versions: From <= version < Below; both empty: any, also unknown ones
	Obeys       []string // below its folder and the folders above it, up to the project's; a folder ends with a slash
	Off         bool     // it can be told to obey none of them, and that was seen to work
	Rewrites    bool     // it changes these files itself when it starts: it gets read-only copies
	Adds        []string // empty files that those copies need besides, or it does not start
	Neutral     bool     // no driver: it starts in an empty folder when it is the user's own
	Tried       string   // what was done to find this out
}

// ClaudeOff makes Claude Code's ACP adapter load the user's settings alone.
var ClaudeOff = map[string]any{"claudeCode": map[string]any{"options": map[string]any{"settingSources": []string{"user"}}}}

var rows = sync.OnceValue(func() []Row {
	claude := []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json",
		".claude/agents/", ".claude/commands/", ".claude/hooks/", ".claude/plugins/", ".claude/skills/"}
	return []Row{
		{Program: "claude", Package: "@agentclientprotocol/claude-agent-acp", From: "0.49.0", Below: "1.0.0", Obeys: claude, Off: true,
			Tried: "0.49.0 with hooks, env, apiKeyHelper, statusLine, permissions, .mcp.json, .env and bunfig.toml: hooks, servers and helper ran and the key went to env's address; with settingSources [user] nothing ran or was sent. .env and bunfig.toml did nothing either way. 0.99.1: nothing ran or was sent with settingSources [user]."},
		{Program: "claude", Obeys: claude, Tried: "untested versions: assumed to obey everything"},
		{Program: "codex", Package: "@agentclientprotocol/codex-acp", Obeys: []string{".codex/"},
			Tried: "2.6.0: a server of .codex/config.toml was started; the adapter declares every folder of a session trusted, whatever CODEX_CONFIG says of it"},
		{Program: "opencode", Package: "opencode-ai", Obeys: []string{"opencode.json", "opencode.jsonc", ".opencode/"}, Rewrites: true, Adds: []string{".opencode/.gitignore"},
			Tried: "1.18.33: it added $schema to opencode.json, made .opencode/.gitignore and installed a package with 3,600 files in .opencode; where they were read-only it worked without, but for .gitignore, which must be there. Plugins and servers ran; with OPENCODE_DISABLE_PROJECT_CONFIG and OPENCODE_PURE a plugin of .opencode still ran at the first prompt. Plugins of a folder above ran, too, where there was no repository. .env and bunfig.toml did nothing."},
		{Program: "gemini", Package: "@google/gemini-cli", Obeys: []string{".gemini/"},
			Tried: "0.61.0: nothing ran in a folder that Gemini itself does not trust; with GEMINI_CLI_TRUST_WORKSPACE=true a server of .gemini/settings.json ran. GEMINI_CLI_TRUST_WORKSPACE=false does not undo the user's own trust."},
		{Program: "goose", Obeys: []string{".goose/", ".agents/", ".mcp.json"}, Tried: "not tested: every documented name"},

		{Program: "npx", Neutral: true, Obeys: []string{"node_modules/", "package.json", ".npmrc"}, Tried: "npx -y NAME ran node_modules/NAME of the folder"},
		{Program: "uv", Neutral: true, Obeys: []string{"pyproject.toml", "uv.toml", ".venv/", ".python-version"}, Tried: "not tested: every documented name"},
		{Program: "python", Neutral: true, Obeys: []string{"*.py", "*/"}, Tried: "python3 -m json.tool ran json/tool.py of the folder; with PYTHONSAFEPATH=1 it did not"},
	}
})

// Rows lists what is known about programs.
func Rows() []Row { return rows() }

// RowOf returns the row of a driver: of the first range that the version is in. A program that has
// no row is taken to obey what any other does.
func RowOf(program, pack, version string) Row {
	for _, r := range Rows() {
		if r.Program == program && !r.Neutral && (r.From == "" || r.Package == pack && !isOlder(version, r.From) && isOlder(version, r.Below)) {
			return r
		}
	}
	return Row{Program: program, Obeys: ObeyedNames()}
}

// ObeyedNames returns every name that some driver obeys.
func ObeyedNames() []string {
	var out []string
	for _, r := range Rows() {
		if !r.Neutral {
			out = append(out, r.Obeys...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ObeyedBy returns the drivers that obey a name.
func ObeyedBy(name string) []string {
	var out []string
	for _, r := range Rows() {
		if !r.Neutral && slices.Contains(r.Obeys, name) && !slices.Contains(out, r.Program) {
			out = append(out, r.Program)
		}
	}
	return out
}

// isOlder reports whether version a comes before b. One that is no version is older than any.
func isOlder(a, b string) bool {
	parse := func(v string) (out [3]int, ok bool) {
		v, _, pre := strings.Cut(v, "-")
		parts := strings.Split(v, ".")
		if len(parts) != len(out) || pre {
			return out, false
		}
		for i, p := range parts {
			n, err := strconv.Atoi(p)
			if err != nil {
				return out, false
			}
			out[i] = n
		}
		return out, true
	}
	av, ok := parse(a)
	bv, _ := parse(b)
	return !ok || slices.Compare(av[:], bv[:]) < 0
}

// PackageOf returns name and version of the npm package that a program belongs to, as its metadata
// say, without running it; empty if it belongs to none.
func PackageOf(program string) (name, version string) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", ""
	}
	const levels, most = 4, 1 << 20
	dir := filepath.Dir(real)
	for range levels {
		file := filepath.Join(dir, "package.json")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() < most {
			var about struct{ Name, Version string }
			data, err := os.ReadFile(file)
			if err == nil && json.Unmarshal(data, &about) == nil && about.Name != "" {
				return about.Name, about.Version
			}
		}
		dir = filepath.Dir(dir)
	}
	return "", ""
}
