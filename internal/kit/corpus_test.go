package kit

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/text"
)

// packages are npm packages of which some bring definitions for agents; those that cannot be
// had are passed over.
var packages = strings.Fields(`@anthropic-ai/sdk @modelcontextprotocol/sdk @modelcontextprotocol/server-everything openai ai zod typescript vite react next
	eslint prettier jest vitest playwright-core express fastify hono chalk commander yargs lodash axios undici svelte vue astro nuxt
	@tanstack/react-query drizzle-orm prisma tailwindcss postcss esbuild rollup turbo nx pnpm tsx skills`)

// TestCorpus reads every definition that lies in the module cache and in packages of npm, in
// place. None is refused without a reason.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("RAMET_TEST_CORPUS")
	if dir == "" {
		t.Skip("make corpus runs this")
	}
	roots := []string{dir}
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output(); err == nil {
		roots = append(roots, strings.TrimSpace(string(out)))
	}
	got := 0
	for _, p := range packages {
		folder := filepath.Join(dir, strings.NewReplacer("@", "", "/", "-").Replace(p))
		if _, err := os.Stat(folder); err == nil {
			got++
			continue
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		pack := exec.CommandContext(t.Context(), "sh", "-c", `tar xzf "$(npm pack --silent "$1")" && rm -f *.tgz`, "sh", p)
		pack.Dir = folder
		if out, err := pack.CombinedOutput(); err != nil {
			os.RemoveAll(folder)
			t.Logf("%s cannot be had: %v %.100s", p, err, out)
			continue
		}
		got++
	}
	count := map[string]int{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(d.Name(), ".md") {
				return nil
			}
			folder := path.Base(path.Dir(filepath.ToSlash(at)))
			var read func(string) error
			kind := ""
			switch {
			case d.Name() == "SKILL.md":
				kind, read = "skills", func(s string) error { _, err := ParseSkill(folder, s); return err }
			case folder == "agents":
				kind, read = "agents", func(s string) error { _, err := ParseRole(d.Name(), s); return err }
			case folder == "commands":
				kind, read = "commands", func(s string) error { _, err := ParseCommand(d.Name(), s); return err }
			case d.Name() == "AGENTS.md" || d.Name() == "CLAUDE.md":
				kind, read = "instructions", func(s string) error { text.Mentions(s); return nil }
			default:
				return nil
			}
			data, err := os.ReadFile(at)
			if err != nil {
				return nil
			}
			count[kind]++
			if err := read(string(data)); err != nil {
				count[kind+" refused"]++
				t.Logf("%s: %v", at, err)
				if err.Error() == "" {
					t.Errorf("%s is refused without a reason", at)
				}
			}
			return nil
		})
	}
	t.Logf("%d packages; %v", got, count)
}
