package launch

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MostProgram bounds a file of a project that is accepted as part of a program.
const MostProgram = 8 << 20

// ProjectFiles returns the files of a project that a command line executes or that say what it
// executes, by their paths in the project: words of it that are files, modules of Python, what a folder
// or a package is started by, and what its runner obeys. What those load in turn is not among them.
func ProjectFiles(project string, args []string) []string {
	var out []string
	add := func(word string) {
		if rel, ok := inProject(project, word); ok && !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	words := commandWords(project, args)
	for i, word := range words {
		if _, value, ok := strings.Cut(word, "="); ok {
			add(value)
		}
		add(word)
		module, joined := strings.CutPrefix(word, "-m")
		if word == "-m" && i+1 < len(words) {
			module = words[i+1]
		}
		if joined && module != "" {
			for part, rest := "", strings.ReplaceAll(module, ".", "/"); rest != ""; {
				var name string
				name, rest, _ = strings.Cut(rest, "/")
				part = path.Join(part, name)
				add(part + ".py")
				add(part + "/__init__.py")
				add(part + "/__main__.py")
			}
		}
		add("node_modules/.bin/" + word)
		for _, name := range startedBy(project, word) {
			add(name)
		}
		for _, name := range obeyedByRunner(path.Base(word)) {
			add(name)
		}
	}
	return out
}

// commandWords takes a command line apart, also one that a shell is given, with the project in place
// of the variables that name it.
func commandWords(project string, args []string) []string {
	var out []string
	for _, arg := range args {
		for _, form := range []string{"${CLAUDE_PROJECT_DIR:-.}", "${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "${RAMET_PROJECT}", "$RAMET_PROJECT", "${PWD}", "$PWD", "$(pwd)"} {
			arg = strings.ReplaceAll(arg, form, project)
		}
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
