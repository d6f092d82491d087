package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/turn/tool"
)

// maxSources bounds how many sources one answer names.
const maxSources = 5

// systemFolders are those that only the system's administrator fills, and the agent's own /tmp.
var systemFolders = []string{"/bin", "/dev", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/tmp", "/usr"}

// reading returns a tool's work whose answers name the foreign content that may be in them: of the files that its
// arguments name, and of all files where Options.Foreign says so.
func (l *Local) reading(run func(context.Context, tool.Call) (tool.Answer, error)) func(context.Context, tool.Call) (tool.Answer, error) {
	return func(ctx context.Context, c tool.Call) (tool.Answer, error) {
		dir := l.o.Root
		args, _ := parseArguments[struct{ Path, Command string }](c.Args)
		if args.Command != "" {
			_, dir = l.folder()
		}
		a, err := run(ctx, c)
		if err != nil {
			return a, err
		}
		paths := append(namedPaths(args.Command), args.Path, ".")
		for _, path := range paths {
			if path != "" {
				a.Foreign = l.addSource(a.Foreign, dir, path)
			}
		}
		if l.o.Foreign != nil {
			if from := l.o.Foreign(); from != "" && !slices.Contains(a.Foreign, from) {
				a.Foreign = append(a.Foreign, from)
			}
		}
		return a, nil
	}
}

// namedPaths returns the words of a command line that can be paths, as a first look finds them: what a program reads
// besides is not known.
func namedPaths(line string) []string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`<>|;&()=,", r) })
	home, _ := os.UserHomeDir()
	for i, w := range words {
		for _, short := range []string{"~/", "$HOME/", "${HOME}/"} {
			if rest, ok := strings.CutPrefix(w, short); ok {
				words[i] = filepath.Join(home, rest)
			}
		}
	}
	return words
}

// addSource adds the source of a file, if neither the user nor the project wrote it: it is outside of the project, or in
// a repository below it that came from elsewhere.
func (l *Local) addSource(sources []string, dir, path string) []string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); err != nil || len(sources) == maxSources {
		return sources
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	from := ""
	own := append([]string{l.o.Root, l.o.Cache, l.o.Outputs, l.o.Temp}, append(l.o.Show, l.o.Write...)...)
	if i := slices.IndexFunc(own, func(folder string) bool { return liesIn(folder, path) }); i >= 0 {
		from = l.clone(own[i], path)
	} else if home, err := os.UserHomeDir(); err == nil && liesIn(home, path) || !slices.ContainsFunc(systemFolders, func(folder string) bool { return liesIn(folder, path) }) {
		from = "file " + path
	}
	if from != "" && !slices.Contains(sources, from) {
		sources = append(sources, from)
	}
	return sources
}

func liesIn(folder, path string) bool {
	rest, err := filepath.Rel(folder, path)
	return folder != "" && err == nil && filepath.IsLocal(rest)
}

// clone returns the repository below a folder in which a path lies, if it has a remote: then others may have written it.
// A worktree or a submodule of the project is none.
func (l *Local) clone(top, path string) string {
	for ; liesIn(top, path) && path != top; path = filepath.Dir(path) {
		config, err := os.ReadFile(filepath.Join(path, ".git", "config"))
		if err == nil && bytes.Contains(config, []byte("[remote ")) {
			rel, _ := filepath.Rel(top, path)
			return "repository " + rel
		}
	}
	return ""
}
