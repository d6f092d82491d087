package sandbox

import "testing"

func TestActs(t *testing.T) {
	for path, want := range map[string]bool{
		".envrc": true, "sub/.EnvRC": true, ".git/hooks/pre-commit": true, "a/.git/config": true, ".gitattributes": true,
		".vscode/tasks.json": true, ".vscode/extensions.json": false, ".husky/pre-push": true, ".mcp.json": true, ".bashrc": true,
		".ramet/config.toml": true, ".ramet/runs/r1/x": false, ".claude/settings.json": true, ".agents/agents/a.md": true, ".agents/skills/s/run.sh": true, ".agents/README.md": false, "agents/a.md": false,
		".npmrc": true, "sub/.cargo/config.toml": true, ".Cargo/Config": true, ".cargo": true, ".cargo/registry/x": false, "config.toml": false, ".hg/hgrc": true, ".hg/store/x": false, "mise.toml": true, "minutes.toml": false, ".pnpmfile.cjs": true,
		"main.go": false, "docs/mcp.md": false, ".github/workflows/ci.yml": false, ".gitignore": false, "environment/rc": false,
	} {
		if got := ActsByName(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestFilesThatActTogetherAreFound(t *testing.T) {
	there := map[string]bool{"artifacts/half/HEAD": true, "artifacts/half/refs": true}
	for want, paths := range map[string][]string{
		"":                         {"artifacts/a.txt", "artifacts/site/config", "artifacts/site/HEAD", "artifacts/HEAD/objects/refs"},
		"artifacts/.git/config":    {"artifacts/a.txt", "artifacts/.git/config"},
		"artifacts/sub/.envrc":     {"artifacts/sub/.envrc"},
		"artifacts/bare/HEAD":      {"artifacts/bare/HEAD", "artifacts/bare/objects/x", "artifacts/bare/refs/y", "artifacts/bare/config"},
		"artifacts/half/Objects/x": {"artifacts/b.txt", "artifacts/half/Objects/x"},
	} {
		if got := FirstActing(paths, func(path string) bool { return there[path] }); got != want {
			t.Errorf("%q: %q, want %q", paths, got, want)
		}
	}
}
