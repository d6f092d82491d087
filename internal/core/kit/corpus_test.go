//go:build extern

package kit_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/kit"
	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// packages are npm packages of which many bring definitions for agents; those that cannot be had
// are passed over.
var packages = strings.Fields(`claude-flow ruflo get-shit-done-cc bmad-method task-master-ai @fission-ai/openspec agentic-qe skills oh-my-opencode
	@pimzino/claude-code-spec-workflow cc-sdd
	@modelcontextprotocol/sdk @modelcontextprotocol/server-everything ai zod next vite react eslint prettier jest vitest playwright-core express
	fastify hono commander yargs axios undici svelte vue astro nuxt @tanstack/react-query drizzle-orm prisma tailwindcss esbuild rollup turbo nx tsx`)

// reasons are all for which a file may define nothing. Whatever else is refused is refused without one.
var reasons = regexp.MustCompile(`^it has no description|^it has no text$|^its front matter does not end|^its front matter has more than|^its front matter is not YAML` +
	`|^context is inherit or none|^budget cannot be|^a command's name has no spaces|^it is too long$|is used instead$|invalid UTF-8`)

// TestCorpus reads every definition and every instruction that lies in the module cache and in
// packages of npm, in place: each is used, or told with its reason.
func TestCorpus(t *testing.T) {
	dir := testkit.AskedFor(t, "RAMET_TEST_CORPUS", "make corpus")
	roots := fetched(t, dir)
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output(); err == nil {
		if modules, err := filepath.EvalSymlinks(strings.TrimSpace(string(out))); err == nil {
			roots = append(roots, modules)
		}
	}
	c := corpus{t: t, counts: map[string]int{}, why: map[string]int{}}
	for _, root := range roots {
		c.walk(root)
	}
	for _, kind := range []string{"instructions", "skills", "agents", "commands"} {
		t.Logf("%-12s %5d read, %d used, %d refused, %d hidden", kind, c.counts[kind], c.counts[kind+" used"], c.counts[kind+" refused"], c.counts[kind+" hidden"])
		if c.counts[kind] == 0 {
			t.Errorf("there are no %s: the corpus shows nothing", kind)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(c.why)) {
		t.Logf("%5d %s", c.why[why], why)
	}
}

// fetched are the folders of packages, unpacked once.
func fetched(t *testing.T, dir string) (out []string) {
	for _, p := range packages {
		folder := filepath.Join(dir, strings.NewReplacer("@", "", "/", "-").Replace(p))
		if _, err := os.Stat(folder); err != nil {
			testkit.OK(t, os.MkdirAll(folder, 0o755))
			pack := exec.CommandContext(t.Context(), "sh", "-c", `tar xzf "$(npm pack --silent "$1")" && rm -f *.tgz`, "sh", p)
			pack.Dir = folder
			if said, err := pack.CombinedOutput(); err != nil {
				os.RemoveAll(folder)
				t.Logf("%s cannot be had: %v %.100s", p, err, said)
				continue
			}
		}
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			out = append(out, real)
		}
	}
	t.Logf("%d packages", len(out))
	return out
}

// corpus counts what was found.
type corpus struct {
	t           *testing.T
	counts, why map[string]int
}

// walk reads what lies below a folder: each place that holds skills, agents or commands as a user's
// folder is read, and instructions one by one.
func (c *corpus) walk(root string) {
	places := map[string]map[string]bool{} // folder → kinds in it
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(d.Name(), ".md") {
			return nil
		}
		if d.Name() == "AGENTS.md" || d.Name() == "CLAUDE.md" || d.Name() == "AGENTS.override.md" {
			c.instructions(at)
			return nil
		}
		parts := strings.Split(filepath.ToSlash(filepath.Dir(at)), "/")
		for i := len(parts) - 1; i > 0; i-- {
			if kind := parts[i]; (kind == "skills" && d.Name() == "SKILL.md" && i < len(parts)-1) || kind == "agents" || kind == "commands" {
				top := strings.Join(parts[:i], "/")
				if places[top] == nil {
					places[top] = map[string]bool{}
				}
				places[top][kind] = true
				break
			}
		}
		return nil
	})
	for _, top := range slices.Sorted(maps.Keys(places)) {
		c.kit(top)
	}
}

// kit reads the definitions of a folder as a user's, and accounts for every file of them.
func (c *corpus) kit(top string) {
	k, err := kit.Read(nothing{}, "", top)
	if err != nil {
		c.t.Errorf("%s: %v", top, err)
		return
	}
	seen := map[string]string{}
	used := func(kind, path, name, body string) {
		seen[path] = kind + " used"
		raw, err := os.ReadFile(path)
		if err != nil || name == "" || body == "" || !strings.Contains(plain(string(raw)), plain(body)) {
			c.t.Errorf("%s: used as %q, which is not what it says (%v)", path, name, err)
		}
	}
	for _, s := range k.Skills {
		used("skills", s.Path, s.Name, s.Body)
		c.lists(s.Path, "allowed-tools", s.Allowed)
	}
	for _, r := range k.Roles {
		used("agents", r.Path, r.Name, r.Prompt)
		c.lists(r.Path, "tools", r.Tools)
	}
	for _, one := range k.Commands {
		used("commands", one.Path, one.Name, one.Body)
		c.lists(one.Path, "allowed-tools", one.Allowed)
		if said := one.Fill("first 'the second'"); strings.Contains(said, "$ARGUMENTS") || !strings.Contains(said, "first") {
			c.t.Errorf("%s: its arguments are lost", one.Path)
		}
	}
	for word, list := range map[string][]kit.Flaw{"refused": k.Flaws, "hidden": k.Hidden} {
		for _, f := range list {
			if !reasons.MatchString(f.Why) {
				c.t.Errorf("%s is refused without a reason that we know: %q", f.Path, f.Why)
			}
			rel, _ := filepath.Rel(top, f.Path)
			kind, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
			seen[f.Path] = kind + " " + word
			why := f.Why
			if word == "hidden" {
				why = "another one of this name is used instead"
			}
			c.why[kind+": "+why]++
		}
	}
	for _, kind := range []string{"skills", "agents", "commands"} {
		c.account(filepath.Join(top, kind), kind, seen)
	}
}

// account holds every file that should define something against what became of it.
func (c *corpus) account(folder, kind string, seen map[string]string) {
	_ = filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && at != folder && (d.Name() == "node_modules" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return nil
		}
		is := strings.HasSuffix(d.Name(), ".md") && d.Name() != "README.md" && !strings.HasPrefix(d.Name(), ".")
		if kind == "skills" {
			is = d.Name() == "SKILL.md" && filepath.Dir(at) != folder
		}
		if !is {
			return nil
		}
		c.counts[kind]++
		if seen[at] == "" {
			c.t.Errorf("%s is neither used nor refused", at)
		}
		c.counts[seen[at]]++
		return nil
	})
}

// lists refuses a list of tools that was there and is gone: it would widen what it narrows.
func (c *corpus) lists(file, key string, got []string) {
	raw, _ := os.ReadFile(file)
	front, _, ok := strings.Cut(strings.TrimPrefix(plain(string(raw)), "---\n"), "\n---")
	if ok && got == nil && regexp.MustCompile(`(?m)^`+key+`:[ \t]*\S`).MatchString(front) && strings.HasPrefix(plain(string(raw)), "---\n") {
		c.t.Errorf("%s: its %s are lost", file, key)
	}
}

// instructions reads one file as a project's: the folder is trusted, in a home of its own.
func (c *corpus) instructions(at string) {
	raw, err := os.ReadFile(at)
	if err != nil {
		c.t.Errorf("%s: %v", at, err)
		return
	}
	c.counts["instructions"]++
	g := trust.Gate{Home: c.t.TempDir(), Project: filepath.Dir(at)}
	r, err := g.Review()
	if err == nil {
		err = g.Accept(c.t.Context(), r)
	}
	var words kit.InstructionWords
	if err == nil {
		var shelf *trust.Shelf
		if shelf, err = g.Shelf(); err == nil {
			words, err = kit.InstructionsBefore(kit.UserInstructions{}, shelf, ".")
			shelf.Close()
		}
	}
	if err != nil {
		c.t.Errorf("%s: %v", at, err)
		return
	}
	refused := slices.IndexFunc(r.Items, func(i trust.Item) bool { return i.Path == filepath.Base(at) && i.Refused != "" })
	switch {
	case slices.ContainsFunc(words.Texts, func(t kit.InstructionText) bool {
		return t.From == filepath.Base(at) && plain(t.Body) == plain(string(raw))
	}):
		c.counts["instructions used"]++
	case len(words.Texts) > 0 && words.Texts[0].From != filepath.Base(at):
		c.counts["instructions hidden"]++
		c.why["instructions: "+words.Texts[0].From+" stands before "+filepath.Base(at)]++
	case refused >= 0:
		c.counts["instructions refused"]++
		c.why["instructions: "+r.Items[refused].Refused]++
	case len(words.Notes) > 0:
		c.counts["instructions refused"]++
		c.why["instructions: "+words.Notes[0]]++
	case plain(string(raw)) == "":
		c.counts["instructions refused"]++
		c.why["instructions: it has no text"]++
	default:
		c.t.Errorf("%s is lost without a reason", at)
	}
}

// plain is a text without what editors of different systems put into it.
func plain(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(strings.ToValidUTF8(s, "\uFFFD"), "\ufeff"), "\r\n", "\n"))
}

// nothing is a project in which nothing was accepted.
type nothing struct{}

func (nothing) Paths(trust.Kind) []string { return nil }

func (nothing) Text(trust.Kind, string) (trust.Text, bool, error) { return trust.Text{}, false, nil }
