package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// The docs recipe over real repositories, taken when it runs (`make corpus`): with the model that is
// built in, with one that copies what the repository says, again when that is merged, and with one
// that lies. What comes out is looked at by program.

// project is a real repository.
type project struct {
	from string // npm, go, debian
	name string
	// looks are what is peculiar to it.
	looks func(t *testing.T, p *planned)
}

var projects = []project{
	{"debian", "requests", func(t *testing.T, p *planned) {
		p.unsaid(t, `(?i)\bsphinx\b`)
		p.followed(t, "sphinx", "docs/index.rst")
	}},
	{"debian", "python-click", func(t *testing.T, p *planned) { p.followed(t, "sphinx", "docs/index.rst", "docs/index.md") }},
	{"debian", "flask", func(t *testing.T, p *planned) { p.followed(t, "sphinx", "docs/index.rst") }},
	{"npm", "commander", func(t *testing.T, p *planned) { p.unplanned(t, `(?i)\b(cli|command-?line|commands)\b`) }},
	{"npm", "express", func(t *testing.T, p *planned) { p.noReference(t, "JavaScript") }},
	{"npm", "zod", func(t *testing.T, p *planned) { p.noReference(t, "TypeScript") }},
	{"npm", "chalk", nil},
	{"npm", "fastify", func(t *testing.T, p *planned) { p.noReference(t, "JavaScript") }},
	{"npm", "axios", nil},
	{"go", "github.com/spf13/cobra", func(t *testing.T, p *planned) { p.referenced(t, ".") }},
	{"go", "github.com/spf13/pflag", func(t *testing.T, p *planned) { p.referenced(t, ".") }},
	{"go", "github.com/go-chi/chi/v5", func(t *testing.T, p *planned) { p.referenced(t, ".", "middleware") }},
	{"go", "github.com/BurntSushi/toml", func(t *testing.T, p *planned) { p.referenced(t, ".") }},
	{"go", "github.com/stretchr/testify", func(t *testing.T, p *planned) { p.referenced(t, "assert") }},
	{"go", "github.com/urfave/cli/v3", func(t *testing.T, p *planned) { p.referenced(t, ".") }},
	{"debian", "rich", func(t *testing.T, p *planned) { p.followed(t, "sphinx", "docs/source/index.rst") }},
}

// leastProjects must be had for the result to say something.
const leastProjects = 12

func TestCorpus(t *testing.T) {
	dir := testkit.AskedFor(t, "RAMET_TEST_CORPUS", "make corpus")
	had := 0
	for _, p := range projects {
		name := strings.NewReplacer("/", "-").Replace(p.name)
		tree := filepath.Join(dir, "docs", p.from+"-"+name)
		if err := p.take(t, tree); err != nil {
			t.Logf("%s cannot be had: %.300s", p.name, err)
			continue
		}
		had++
		t.Run(name, func(t *testing.T) { play(t, p, tree) })
	}
	if had < leastProjects {
		t.Errorf("%d repositories could be had, and %d are needed", had, leastProjects)
	}
	t.Logf("%d repositories", had)
}

// planned is a project with what the recipe planned and made of it.
type planned struct {
	*errand
	tree               string // its files
	repo               string // as a repository of git
	System, Dir, Title string
	Pages              []struct{ Path, Title, Section, Draft string }
	Notes              []string
	pages              map[string]string // that were made, by path
}

// play carries the recipe out, in four ways.
func play(t *testing.T, p project, tree string) {
	began := time.Now()
	e := newErrand(t)
	d := &planned{errand: e, tree: tree, repo: filepath.Join(filepath.Dir(e.dir), path.Base(p.name))}
	testkit.Git(t, "", "init", "-q", "-b", "main", d.repo)
	if out, err := exec.Command("cp", "-a", tree+"/.", d.repo).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	testkit.Git(t, d.repo, "add", "-f", ".")
	testkit.Git(t, d.repo, "commit", "-q", "-m", "taken")

	// Without a key: small and right, or a reason at the plan.
	r := e.ramet(nil, "run", "start", "--repo", d.repo, "--run-id", "plain", "--model", "offline/offline")
	made := e.made("plain")
	if r.code != 0 && made["artifacts/plan.json"] == "" {
		if !strings.Contains(r.stderr, "error[CONFLICT]: ") {
			t.Fatalf("%d\n%s", r.code, r.stderr)
		}
		t.Logf("no plan: %s", last(r.stderr))
		return
	}
	if r.code != 0 {
		t.Fatalf("%d\n%s", r.code, r.stderr)
	}
	testkit.OK(t, json.Unmarshal([]byte(made["artifacts/plan.json"]), d))
	d.look(t, p, "plain")

	// Somebody who copies.
	diligent := d.copies(t)
	if r = diligent.over(t, d, "copied"); r.code != 0 {
		t.Fatalf("%d\n%s", r.code, tail(r.stderr, 30))
	}
	d.look(t, p, "copied")
	written := len(d.pages)

	// What is merged is not made again.
	testkit.Git(t, d.repo, "fetch", "-q", filepath.Join(e.run("copied"), "artifacts/pr/branch.bundle"), "ramet/docs")
	testkit.Git(t, d.repo, "merge", "-q", "--no-edit", "FETCH_HEAD")
	if r = diligent.over(t, d, "again"); r.code != 0 || !strings.Contains(r.stdout, "nothing to change: no pull request was opened") {
		t.Errorf("again: %d\n%s%s\n%.2000s", r.code, r.stdout, tail(r.stderr, 20), e.made("again")["artifacts/docs.patch"])
	}
	testkit.Git(t, d.repo, "reset", "-q", "--hard", "HEAD~1")

	// Somebody who lies.
	r = d.lies().over(t, d, "lied")
	shown := e.must(0, "run", "show", "lied", "--json").stdout
	for _, code := range []string{"FACT_NUMBER", "FACT_CODE", "UNCITED_FACT", "DRAFT_FOREIGN"} {
		if !strings.Contains(shown, `"error_code": "`+code+`"`) {
			t.Errorf("nobody found %s", code)
		}
	}
	if _, published := e.made("lied")["artifacts/pr.json"]; published || r.code != 1 || !strings.Contains(r.stderr, "error[NO_PROGRESS]") {
		t.Errorf("%d\n%s", r.code, tail(r.stderr, 5))
	}
	t.Logf("%-9s %2d pages, %d of a reference, in %s: DONE twice, then nothing to change; the lies are found; %d notes (%s)",
		d.System, written, d.references(), d.Dir, len(d.Notes), time.Since(began).Round(time.Second))
}

// look holds what a run made against the repository.
func (d *planned) look(t *testing.T, p project, run string) {
	t.Helper()
	bundle := filepath.Join(d.errand.run(run), "artifacts/pr/branch.bundle")
	if _, err := os.Stat(bundle); err != nil {
		t.Fatalf("%s opened nothing", run)
	}
	testkit.Git(t, d.repo, "fetch", "-q", bundle, "ramet/docs")
	d.pages = map[string]string{}
	for line := range strings.Lines(testkit.Git(t, d.repo, "diff", "--no-renames", "--name-status", "HEAD", "FETCH_HEAD")) {
		status, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if status != "A" {
			t.Errorf("%s: %s %s: something of theirs was changed", run, status, name) // none has our markers
		}
		if !slices.ContainsFunc(d.Pages, func(o struct{ Path, Title, Section, Draft string }) bool { return o.Path == name }) {
			t.Errorf("%s: %s was not planned", run, name)
		}
		d.pages[name] = testkit.Git(t, d.repo, "show", "FETCH_HEAD:"+name)
	}
	if len(d.pages) == 0 {
		t.Errorf("%s: there is no page", run)
	}
	targets := d.targets()
	for name, text := range d.pages {
		if strings.Contains(text, "<!-- cite") {
			t.Errorf("%s: %s has citations", run, name)
		}
		for _, found := range regexp.MustCompile("(?m)(?:^|`|\\$ )make ([a-z][a-z0-9_-]*)").FindAllStringSubmatch(text, -1) {
			if !targets[found[1]] {
				t.Errorf("%s: %s tells to make %s, and the root has no such target", run, name, found[1])
			}
		}
	}
	if p.looks != nil {
		p.looks(t, d)
	}
}

// targets are those of the Makefile of the root.
func (d *planned) targets() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		data, _ := os.ReadFile(filepath.Join(d.tree, name))
		for _, found := range regexp.MustCompile(`(?m)^([A-Za-z0-9_. -]+):`).FindAllSubmatch(data, -1) {
			for _, one := range strings.Fields(string(found[1])) {
				out[one] = true
			}
		}
	}
	return out
}

// unsaid demands that no page has something.
func (d *planned) unsaid(t *testing.T, what string) {
	t.Helper()
	for name, text := range d.pages {
		if found := regexp.MustCompile(what).FindString(text); found != "" && !strings.Contains(name, "reference") {
			t.Errorf("%s says %q", name, found)
		}
	}
}

// unplanned demands that no page is called so.
func (d *planned) unplanned(t *testing.T, what string) {
	t.Helper()
	for _, p := range d.Pages {
		if regexp.MustCompile(what).MatchString(p.Path + " " + p.Title) {
			t.Errorf("%s %q is planned", p.Path, p.Title)
		}
	}
}

// noReference demands that there is none, and that the plan says why.
func (d *planned) noReference(t *testing.T, language string) {
	t.Helper()
	if d.references() > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "no reference of the "+language+" code") {
		t.Errorf("%d pages of a reference; %q", d.references(), d.Notes)
	}
}

func (d *planned) references() int {
	n := 0
	for _, p := range d.Pages {
		if strings.HasPrefix(p.Section, "reference") {
			n++
		}
	}
	return n
}

// followed demands a documentation system, and nothing beside its pages.
func (d *planned) followed(t *testing.T, system string, theirs ...string) {
	t.Helper()
	if d.System != system {
		t.Errorf("it is %q, not %s", d.System, system)
	}
	for _, name := range theirs {
		stem := strings.TrimSuffix(name, path.Ext(name))
		for page := range d.pages {
			if strings.TrimSuffix(page, path.Ext(page)) == stem {
				t.Errorf("%s stands beside %s", page, name)
			}
		}
	}
}

// referenced demands all exported names of Go packages, as go doc lists them.
func (d *planned) referenced(t *testing.T, packages ...string) {
	t.Helper()
	all := ""
	for name, text := range d.pages {
		if strings.Contains(name, "reference") {
			all += text
		}
	}
	for _, one := range packages {
		cmd := exec.Command("go", "doc", "-short", ".")
		cmd.Dir = filepath.Join(d.repo, one)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go doc: %v %s", err, out)
		}
		n := 0
		for _, found := range regexp.MustCompile(`(?m)^\s*(?:func|type|var|const) ([A-Z]\w*)`).FindAllSubmatch(out, -1) {
			n++
			if !regexp.MustCompile(`\b` + string(found[1]) + `\b`).MatchString(all) {
				t.Errorf("the reference of %s lacks %s", one, found[1])
			}
		}
		if n == 0 {
			t.Errorf("go doc lists nothing of %s: %.200s", one, out)
		}
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func last(text string) string { return tail(text, 1) }

// over carries the docs recipe out with a scripted model.
func (s *script) over(t *testing.T, d *planned, name string) outcome {
	t.Helper()
	own := slices.Clone(*s)
	own.on("", true, says("done"))
	at := d.file(t, name+".jsonl", strings.Join(own, "\n")+"\n")
	return d.ramet([]string{"RAMET_TEST_SCRIPTS=1"}, "run", "start", "--repo", d.repo, "--run-id", name, "--model", "script/"+at, "--no-cache")
}

// writes lets the model write a file when a section is drafted.
func (s *script) writes(section string, files map[string]string) {
	var steps []any
	for name, text := range files {
		steps = append(steps, call("write", map[string]any{"path": name, "content": text}))
	}
	line, err := json.Marshal(map[string]any{"when": fmt.Sprintf("Draft the section %q", section), "repeat": true, "steps": steps})
	if err != nil {
		panic(err)
	}
	*s = append(*s, string(line))
}

// take brings the files of a project into a folder, unless they are there.
func (p project) take(t *testing.T, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := dir + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o755)); err != nil {
		return err
	}
	err := map[string]func(*testing.T, string) error{"npm": p.fromNPM, "go": p.fromGo, "debian": p.fromDebian}[p.from](t, part)
	if err == nil {
		// What is a repository there is none here.
		err = errors.Join(os.RemoveAll(filepath.Join(part, ".git")), os.Rename(part, dir))
	}
	os.RemoveAll(part)
	return err
}

func shell(t *testing.T, dir, line string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", line, "sh"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %.300s", err, out)
	}
	return string(out), nil
}

func (p project) fromNPM(t *testing.T, dir string) error {
	_, err := shell(t, dir, `set -e; f=$(npm pack --silent "$1"); tar xzf "$f" --strip-components=1; rm -f "$f"`, p.name)
	return err
}

func (p project) fromGo(t *testing.T, dir string) error {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", p.name+"@latest")
	cmd.Dir = dir // outside of any module
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(out, &got); err != nil || got.Dir == "" {
		return fmt.Errorf("go mod download says %.200s", out)
	}
	_, err = shell(t, dir, `cp -r "$1"/. . && chmod -R u+w .`, got.Dir)
	return err
}

// suites are tried in turn: a mirror may have lost some of its files.
var suites = []string{"sid", "trixie", "bookworm", "bullseye"}

func (p project) fromDebian(t *testing.T, dir string) error {
	lists := filepath.Join(filepath.Dir(dir), "apt")
	if err := os.MkdirAll(filepath.Join(lists, "lists", "partial"), 0o755); err != nil {
		return err
	}
	var sources strings.Builder
	for _, s := range suites {
		fmt.Fprintf(&sources, "deb-src http://deb.debian.org/debian %s main\n", s)
	}
	list := filepath.Join(lists, "sources.list")
	if _, err := os.Stat(list); err != nil {
		if err := os.WriteFile(list, []byte(sources.String()), 0o644); err != nil {
			return err
		}
		if _, err := shell(t, lists, apt(lists)+` -qq update`); err != nil {
			os.Remove(list)
			return err
		}
	}
	for _, s := range suites {
		shell(t, dir, apt(lists)+` -qq source --download-only "$1/$2"`, p.name, s) // whatever of it is there
		if _, err := shell(t, dir, `set -e; f=$(ls *.orig.tar.* | grep -v asc | head -1); mkdir ../unpack.$$; tar xf "$f" -C ../unpack.$$ --strip-components=1; rm -rf ./*; cp -a ../unpack.$$/. .; rm -rf ../unpack.$$`); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no suite has the source of %s", p.name)
}

// apt is apt-get with lists of its own.
func apt(dir string) string {
	o := ""
	for _, one := range []string{"Dir::Etc::sourcelist=" + dir + "/sources.list", "Dir::Etc::sourceparts=-", "Dir::State=" + dir, "Dir::State::lists=" + dir + "/lists",
		"Dir::Cache=" + dir + "/cache", "APT::Sandbox::User=root", "Dir::Etc::trustedparts=/usr/share/keyrings"} {
		o += " -o '" + one + "'"
	}
	return "apt-get" + o
}
