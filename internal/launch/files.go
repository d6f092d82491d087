package launch

import (
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ramet/internal/launch/sandbox"
)

// MostProgram bounds a file of a project that is accepted as part of a program.
const MostProgram = 8 << 20

// ProjectFiles returns the files of a project that a command line executes or that say what it
// executes, by their paths in the project: words of it that are files, modules of Python, what a folder
// or a package is started by, what its runner obeys, and interpreters that scripts name in their first
// line. A link counts with the file that it leads to. Words count from the project's folder, and from
// each folder that the line names, as with make -C. What those files load in turn is not among them.
func ProjectFiles(project string, args []string) []string { return projectFiles(project, args, true) }

// ScriptFiles returns the same without what runners of packages obey.
func ScriptFiles(project string, args []string) []string { return projectFiles(project, args, false) }

func projectFiles(project string, args []string, runners bool) []string {
	var out []string
	add := func(name string) {
		rel, ok := inProject(project, name)
		if !ok {
			return
		}
		names := []string{rel}
		if real, err := filepath.EvalSymlinks(filepath.Join(project, rel)); err == nil {
			if target, ok := inProject(project, real); ok {
				names = append(names, target)
			}
		}
		for _, rel := range names {
			if !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	words := commandWords(project, args)
	for _, base := range append([]string{"."}, foldersIn(project, words)...) {
		for _, name := range namedFiles(project, words, runners) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(base, name)
			}
			add(name)
		}
	}
	if len(args) > 0 { // a folder of the project may be on PATH, such as that of a virtual environment
		if path, line := ResolveProgram(project, os.Environ(), args); path != "" {
			add(line[0])
		}
	}
	for i := 0; i < len(out); i++ {
		add(interpreterOf(filepath.Join(project, filepath.FromSlash(out[i]))))
	}
	return out
}

// ResolveProgram finds the program of a command line if it is a file or a link of the project: the
// file to execute, by its real path, so that the file that is checked is the one that is started,
// whatever becomes of the links that led to it, and the command line to give it. A program that a
// link of the project finds elsewhere keeps the name of the link, by which virtual environments are
// found. The path of any other program is empty, and its command line as before.
func ResolveProgram(project string, env, args []string) (path string, line []string) {
	file, err := sandbox.LookPath(args[0], project, env)
	if err != nil {
		return "", args
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(project, file)
	}
	real, err := filepath.EvalSymlinks(file)
	home, _ := os.UserHomeDir()
	linked := isNamedBelow(project, file) && !(isWithin(project, home) && isNamedBelow(home, file))
	switch {
	case err != nil || !linked && !ofProject(project, real):
		return "", args
	case ofProject(project, real):
		file = real
	}
	return real, append([]string{file}, args[1:]...)
}

// isNamedBelow reports whether a path names something below a folder, wherever links lead.
func isNamedBelow(folder, path string) bool {
	for _, dir := range []string{folder, sandbox.RealPath(folder)} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// interpreterOf returns the path in the first line of a script; empty if there is none.
func interpreterOf(script string) string {
	f, err := os.OpenFile(script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 256 // what Linux reads of the line
	line, _ := io.ReadAll(io.LimitReader(f, most))
	text, _, _ := strings.Cut(string(line), "\n")
	if text, ok := strings.CutPrefix(text, "#!"); ok {
		if words := strings.Fields(text); len(words) > 0 {
			return words[0]
		}
	}
	return ""
}

// namedFiles returns what words may name, whether or not it exists.
func namedFiles(project string, words []string, runners bool) []string {
	var out []string
	for i, word := range words {
		if name, ok := strings.CutPrefix(word, "file://"); ok {
			word = name
		}
		if _, value, ok := strings.Cut(word, "="); ok {
			out = append(out, value)
		}
		out = append(out, word)
		if runners {
			out = append(out, "node_modules/.bin/"+word)
			out = append(out, obeyedByRunner(path.Base(word))...)
		}
		for _, suffix := range []string{".js", ".cjs", ".mjs", ".ts", ".json"} { // node finds them without
			out = append(out, word+suffix)
		}
		module, joined := strings.CutPrefix(word, "-m")
		if word == "-m" && i+1 < len(words) {
			module = words[i+1]
		}
		if joined && module != "" {
			for part, rest := "", strings.ReplaceAll(module, ".", "/"); rest != ""; {
				var name string
				name, rest, _ = strings.Cut(rest, "/")
				part = path.Join(part, name)
				out = append(out, part+".py", part+"/__init__.py", part+"/__main__.py")
			}
		}
		out = append(out, startedBy(project, word)...)
	}
	return out
}

// foldersIn returns the folders of a project that words name, also as the value of an option.
func foldersIn(project string, words []string) []string {
	var out []string
	for _, word := range words {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if filepath.IsAbs(word) {
			word, _ = filepath.Rel(project, word)
		}
		if word == "" || word == "." || !filepath.IsLocal(word) || slices.Contains(out, word) {
			continue
		}
		if info, err := os.Stat(filepath.Join(project, word)); err == nil && info.IsDir() {
			out = append(out, word)
		}
	}
	return out
}

// RelativeToProject replaces the project's path, and variables that name it, in a command line by a dot.
func RelativeToProject(project, line string) string {
	line = strings.ReplaceAll(line, project+string(filepath.Separator), "./")
	for _, form := range []string{"${CLAUDE_PROJECT_DIR:-.}", "${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "${RAMET_PROJECT}", "$RAMET_PROJECT", "${PWD}", "$PWD", "$(pwd)"} {
		line = strings.ReplaceAll(line, form, ".")
	}
	return line
}

// commandWords takes a command line apart, also one that a shell is given.
func commandWords(project string, args []string) []string {
	var out []string
	for _, arg := range args {
		arg = RelativeToProject(project, arg)
		out = append(out, arg)
		if parts := strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()`{}<>\"'", r) }); len(parts) > 1 {
			out = append(out, parts...)
		}
	}
	return out
}

// startedBy returns the files that a folder is started by, as node, python and go do it.
func startedBy(project, word string) []string {
	if !filepath.IsAbs(word) {
		word = filepath.Join(project, word)
	}
	if info, err := os.Stat(word); err != nil || !info.IsDir() {
		return nil
	}
	var out []string
	for _, pattern := range []string{"package.json", "index.*", "__main__.py", "*.go"} {
		found, _ := filepath.Glob(filepath.Join(word, pattern)) // the patterns are well formed
		out = append(out, found...)
	}
	return out
}

// obeyedByRunner returns the files by which programs decide what to run.
func obeyedByRunner(program string) []string {
	switch program {
	case "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "tsx", "ts-node":
		return []string{"package.json", ".npmrc", ".yarnrc.yml", "bunfig.toml"}
	case "deno":
		return []string{"deno.json", "deno.jsonc"}
	case "uv", "uvx", "poetry", "pdm", "hatch", "pipx":
		return []string{"pyproject.toml", "uv.toml"}
	case "make", "gmake":
		return []string{"GNUmakefile", "makefile", "Makefile"}
	case "just":
		return []string{"justfile", ".justfile"}
	case "cargo":
		return []string{"Cargo.toml", ".cargo/config.toml", "build.rs"}
	}
	return nil
}

// inProject returns the path in a project of a file, or a link, that a word names.
func inProject(project, word string) (string, bool) {
	if filepath.IsAbs(word) {
		rel, err := filepath.Rel(project, word)
		if err != nil {
			return "", false
		}
		word = rel
	}
	if word == "" || !filepath.IsLocal(word) {
		return "", false
	}
	p := path.Clean(filepath.ToSlash(word))
	info, err := os.Stat(filepath.Join(project, filepath.FromSlash(p)))
	if err != nil {
		info, err = os.Lstat(filepath.Join(project, filepath.FromSlash(p)))
	}
	return p, err == nil && !info.IsDir()
}

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
