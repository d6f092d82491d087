package facts

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// languages by the end of the name.
var languages = map[string]string{
	".go": "go", ".py": "python", ".pyi": "python", ".rs": "rust",
	".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
	".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescript",
	".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".hpp": "c++", ".java": "java",
	".kt": "kotlin", ".swift": "swift", ".rb": "ruby", ".php": "php", ".cs": "c#", ".scala": "scala",
	".sh": "shell", ".bash": "shell", ".zsh": "shell", ".ps1": "powershell", ".lua": "lua", ".pl": "perl",
	".ex": "elixir", ".exs": "elixir", ".erl": "erlang", ".hs": "haskell", ".ml": "ocaml", ".zig": "zig",
	".dart": "dart", ".r": "r", ".jl": "julia", ".sql": "sql", ".s": "assembly", ".asm": "assembly",
}

// markup are languages of texts and data; they do not count as languages of a project.
var markup = map[string]string{
	".md": "markdown", ".markdown": "markdown", ".rst": "restructuredtext", ".html": "html", ".htm": "html",
	".css": "css", ".scss": "css", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
	".xml": "xml", ".ini": "ini", ".cfg": "ini", ".proto": "protobuf",
}

var (
	lockFiles = strings.Fields("go.sum go.work.sum package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb " +
		"cargo.lock poetry.lock uv.lock pdm.lock pipfile.lock composer.lock gemfile.lock flake.lock deno.lock")
	manifests = strings.Fields("go.mod go.work package.json cargo.toml pyproject.toml setup.py setup.cfg pipfile " +
		"pnpm-workspace.yaml lerna.json deno.json jsr.json")
	buildFiles = strings.Fields("makefile gnumakefile justfile .justfile tox.ini noxfile.py dockerfile containerfile cmakelists.txt " +
		"taskfile.yml taskfile.yaml build.rs meson.build build.gradle pom.xml rakefile jenkinsfile .gitlab-ci.yml .travis.yml " +
		".goreleaser.yml .goreleaser.yaml .pre-commit-config.yaml")
	vendorDirs  = strings.Fields("vendor node_modules third_party bower_components")
	testDirs    = strings.Fields("test tests __tests__ e2e benches spec __mocks__")
	dataDirs    = strings.Fields("testdata fixtures __fixtures__ __snapshots__ __pycache__")
	exampleDirs = strings.Fields("example examples _example _examples samples demo demos")
	docDirs     = strings.Fields("doc docs documentation website")
)

// classify tells language and role from the path and the first bytes.
func classify(p string, head []byte) (language, role string) {
	dir, base := path.Split(p)
	low := strings.ToLower(base)
	ext := path.Ext(low)
	language = languages[ext]
	text := markup[ext]
	binary := bytes.IndexByte(head, 0) >= 0
	if language == "" && bytes.HasPrefix(head, []byte("#!")) {
		language = shebang(head)
	}
	code := language
	if language == "" {
		language = text
	}
	if binary {
		language, code = "", ""
	}
	stem := strings.TrimSuffix(low, ext)
	switch {
	case inDir(dir, vendorDirs):
		return language, "vendored"
	case slices.Contains(lockFiles, low) || !binary && generated(low, head):
		return language, "generated"
	case binary:
		return "", "data"
	case inDir(dir, dataDirs):
		return language, "data"
	case slices.Contains(manifests, low) || strings.HasPrefix(low, "requirements") && ext == ".txt":
		return language, "manifest"
	case isLicence(low):
		return language, "licence"
	case stem == "readme" && (ext == "" || ext == ".md" || ext == ".rst" || ext == ".txt" || ext == ".markdown"):
		return language, "readme"
	case slices.Contains(buildFiles, low) || ext == ".mk" || ext == ".just" || strings.HasPrefix(p, ".github/workflows/") ||
		strings.HasPrefix(p, ".forgejo/workflows/") || strings.HasPrefix(p, ".gitea/workflows/"):
		return language, "build"
	case code != "" && isTest(dir, low, stem):
		return language, "test"
	case code != "":
		return language, "source"
	case text == "markdown" || text == "restructuredtext" || ext == ".adoc" || ext == ".txt" && inDir(dir, docDirs):
		return language, "doc"
	case text != "":
		return language, "data"
	}
	return language, "other"
}

func shebang(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	for _, w := range []struct{ word, language string }{
		{"python", "python"}, {"node", "javascript"}, {"deno", "typescript"}, {"ruby", "ruby"}, {"perl", "perl"}, {"sh", "shell"},
	} {
		if bytes.Contains(line, []byte(w.word)) {
			return w.language
		}
	}
	return ""
}

// inDir says whether a folder of the path has one of the names.
func inDir(dir string, names []string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part != "" && slices.Contains(names, strings.ToLower(part)) {
			return true
		}
	}
	return false
}

func isTest(dir, low, stem string) bool {
	return strings.HasSuffix(low, "_test.go") || strings.HasPrefix(low, "test_") && strings.HasSuffix(low, ".py") ||
		strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") ||
		low == "conftest.py" || inDir(dir, testDirs) && !strings.HasSuffix(low, ".go")
}

func isLicence(low string) bool {
	for _, word := range []string{"license", "licence", "copying", "unlicense"} {
		if rest, ok := strings.CutPrefix(low, word); ok && (rest == "" || rest[0] == '.' || rest[0] == '-' || rest[0] == '_') {
			switch path.Ext(low) {
			case ".go", ".py", ".js", ".ts", ".rs", ".html", ".json":
				return false
			}
			return true
		}
	}
	return false
}

// generated looks for what tools write about themselves, and for code without lines.
func generated(low string, head []byte) bool {
	if strings.Contains(low, ".min.") || strings.HasSuffix(low, ".pb.go") || strings.HasSuffix(low, "_pb2.py") || strings.HasSuffix(low, ".map") {
		return true
	}
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		line = bytes.TrimSpace(line)
		comment := bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("#")) ||
			bytes.HasPrefix(line, []byte("/*")) || bytes.HasPrefix(line, []byte("*"))
		if !comment {
			continue
		}
		if bytes.Contains(line, []byte("Code generated ")) && bytes.Contains(line, []byte("DO NOT EDIT")) {
			return true
		}
		word := bytes.TrimLeft(line, "/#* ")
		if bytes.HasPrefix(word, []byte("@generated")) || bytes.HasPrefix(word, []byte("Generated by the protocol buffer compiler")) {
			return true
		}
	}
	switch path.Ext(low) {
	case ".js", ".mjs", ".cjs", ".css":
		return len(head) > 2000 && len(head)/(1+bytes.Count(head, []byte("\n"))) > 400
	}
	return false
}
