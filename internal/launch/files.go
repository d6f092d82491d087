package launch

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/launch/sandbox"
)

// MostProgram bounds a file of a project that is accepted as part of a program.
const MostProgram = 8 << 20

// ProjectFiles returns the files of a project that a command line executes or that say what it
// executes, by their paths in the project: words of it that are files, modules of Python, what a folder
// or a package is started by, and what its runner obeys. A link counts with the file that it leads to. Words count from the project's folder, and from
// each folder that the line names, as with make -C. What those files load in turn is not among them.
func ProjectFiles(project string, args []string) []string {
	var out []string
	words := commandWords(project, args)
	for _, base := range append([]string{"."}, foldersIn(project, words)...) {
		for _, name := range namedFiles(project, words) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(base, name)
			}
			rel, ok := inProject(project, name)
			if !ok {
				continue
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
	}
	return out
}

// ResolveProgram returns a command line whose program, if it is a file of the project, is named by its
// real path, so that the file that is checked is the one that is started, whatever becomes of the links
// that led to it. A program elsewhere is named as before.
func ResolveProgram(project string, env, args []string) []string {
	file, err := sandbox.LookPath(args[0], project, env)
	if err != nil {
		return args
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(project, file)
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil || !ofProject(project, real) {
		return args
	}
	return append([]string{real}, args[1:]...)
}

// namedFiles returns what words may name, whether or not it exists.
func namedFiles(project string, words []string) []string {
	var out []string
	for i, word := range words {
		if name, ok := strings.CutPrefix(word, "file://"); ok {
			word = name
		}
		if _, value, ok := strings.Cut(word, "="); ok {
			out = append(out, value)
		}
		out = append(out, word, "node_modules/.bin/"+word)
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
		out = append(out, obeyedByRunner(path.Base(word))...)
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
