package guard

import "testing"

func TestActs(t *testing.T) {
	for path, want := range map[string]bool{
		".envrc": true, "sub/.EnvRC": true, ".git/hooks/pre-commit": true, "a/.git/config": true, ".gitattributes": true,
		".vscode/tasks.json": true, ".vscode/extensions.json": false, ".husky/pre-push": true, ".mcp.json": true, ".bashrc": true,
		".ramet/config.toml": true, ".ramet/runs/r1/x": false, ".claude/settings.json": true, ".agents/agents/a.md": true, ".agents/skills/s/run.sh": true, ".agents/README.md": false, "agents/a.md": false,
		"main.go": false, "docs/mcp.md": false, ".github/workflows/ci.yml": false, ".gitignore": false, "environment/rc": false,
	} {
		if got := Acts(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
