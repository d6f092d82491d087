package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/files/git"
)

// mostPages limits the pages of a reference; a larger one is for a tool of the language.
const mostPages = 60

// runPlan decides which pages are needed. It looks at the source, and at the repository that the
// pages go into.
//
// Values: docs_dir, title, sections (of the recipe, as JSON), repo (for the name).
func runPlan(ctx context.Context, c Call) error {
	var in pins
	if err := c.read(inputsFile, &in); err != nil {
		return err
	}
	repo, source, err := c.source(ctx, in)
	if err != nil {
		return err
	}
	dir, target, commit := source.Dir, source, in.Source
	if in.Base != in.Source {
		if target, err = c.unpack(ctx, baseFile, in.Base); err != nil {
			return err
		}
		commit = in.Base
	}
	m := &planner{repo: repo, target: os.DirFS(target.Dir), refs: drafts{Pages: map[string]string{}}}
	linked, err := listSymlinks(ctx, target, commit)
	if err != nil {
		return err
	}
	if m.system, err = findSystem(m.target, linked, c.Value("docs_dir")); err != nil {
		return err
	}
	var wanted []Section
	if err := json.Unmarshal([]byte(cmp.Or(c.Value("sections"), "[]")), &wanted); err != nil {
		return fault.New(fault.InvalidRecipe, "the sections are no list: %w", err)
	}
	m.Plan = Plan{Title: cmp.Or(c.Value("title"), m.project(c.Value("repo"))), Commit: in.Inputs[0].Commit, System: m.system.name, Dir: m.system.dir,
		Sections: []Section{}, Pages: []Page{}, Notes: append([]string{}, m.system.notes...)}
	if err := m.written(wanted); err != nil {
		return err
	}
	if err := m.reference(ctx, dir); err != nil {
		return err
	}
	if len(m.Pages) == 0 {
		return fault.New(fault.Conflict, "there is no page to write: %s", strings.Join(m.Notes, "; ")).WithHint("name another folder with --set docs_dir=NAME")
	}
	return m.deliver(c)
}

// listSymlinks returns the symbolic links of a commit, and where they lead.
func listSymlinks(ctx context.Context, t git.Tree, commit string) (map[string]string, error) {
	list, err := t.Run(ctx, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for one := range strings.SplitSeq(list, "\x00") {
		about, name, _ := strings.Cut(one, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && fields[0] == "120000" {
			if out[name], err = t.Run(ctx, "cat-file", "blob", fields[2]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// planner makes one plan.
type planner struct {
	Plan
	system system
	repo   *Repository
	target fs.FS
	refs   drafts
}

func (m *planner) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

var (
	goModule    = text.Regexp(`(?m)^module[ \t]+"?([^\s"]+)"?`)
	quotedName  = text.Regexp(`(?m)^\s*"name"\s*:\s*"([^"]+)"`)
	assigned    = text.Regexp(`(?m)^\s*name\s*=\s*["']([^"']+)["']`)
	bareName    = text.Regexp(`(?m)^name\s*=\s*(\S+)`)
	majorSuffix = text.Regexp(`/v[0-9]+$`)
)

// project returns the name of the project: that of its manifest, or of its folder.
func (m *planner) project(address string) string {
	if found := goModule().FindStringSubmatch(m.repo.Text("go.mod")); found != nil {
		return path.Base(majorSuffix().ReplaceAllString(found[1], ""))
	}
	for _, one := range []struct {
		file string
		form func() *regexp.Regexp
	}{{"package.json", quotedName}, {"pyproject.toml", assigned}, {"setup.cfg", bareName}, {"Cargo.toml", assigned}} {
		if found := one.form().FindStringSubmatch(m.repo.Text(one.file)); found != nil {
			return found[1]
		}
	}
	address = strings.TrimRight(strings.ReplaceAll(address, `\`, "/"), "/")
	if i := strings.LastIndexAny(address, "/:"); i >= 0 {
		address = address[i+1:]
	}
	return cmp.Or(strings.TrimSuffix(address, ".git"), "project")
}

// sectionName matches the names in markers and file names.
var sectionName = text.Regexp(`^[a-z0-9][a-z0-9-]{0,62}$`)

// written plans the pages that writers write: one for each section of the recipe.
func (m *planner) written(wanted []Section) error {
	for _, s := range wanted {
		if !sectionName().MatchString(s.Name) {
			return fault.New(fault.InvalidRecipe, "section %.60q: a name has small letters, digits and -", s.Name)
		}
		names := []string{s.Name}
		if s.Name == "overview" {
			names = []string{"index", "overview"}
		}
		at, ok, err := m.free(s.Name, names...)
		if err != nil {
			return err
		}
		if !ok {
			m.note("no page %q: %s is not ours, and stays as it is", s.Title, path.Join(m.Dir, names[len(names)-1]))
			continue
		}
		title := s.Title
		if s.Name == "overview" {
			title = m.Title
		}
		m.Sections = append(m.Sections, s)
		m.Pages = append(m.Pages, Page{Path: at, Title: title, Section: s.Name, Draft: path.Join(draftsDir, s.Name+".md")})
	}
	return nil
}

// free finds a path for a page: one that has our markers already, or else one that nothing like
// it exists at, whatever the format.
func (m *planner) free(section string, names ...string) (string, bool, error) {
	free := ""
	for _, name := range names {
		at := path.Join(m.Dir, name)
		taken := false
		entries, _ := fs.ReadDir(m.target, path.Dir(at))
		for _, e := range entries {
			stem := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
			if !strings.EqualFold(stem, path.Base(at)) && !(path.Base(at) == "index" && (strings.EqualFold(stem, "readme") || strings.EqualFold(stem, "summary") || strings.EqualFold(stem, "_index"))) {
				continue
			}
			if taken = true; e.Name() != path.Base(at)+m.system.ext || !e.Type().IsRegular() {
				continue
			}
			page, err := fs.ReadFile(m.target, at+m.system.ext)
			if err != nil {
				return "", false, fault.New(fault.StorageIO, "read %s: %w", at, err)
			}
			if _, _, ours, err := findSection(page, at+m.system.ext, section); err != nil || ours {
				return at + m.system.ext, err == nil, err
			}
		}
		if !taken && free == "" {
			free = at + m.system.ext
		}
	}
	return free, free != "", nil
}

// reference plans the pages that the languages' own tools give.
func (m *planner) reference(ctx context.Context, dir string) error {
	pages := GoReference(m.repo)
	python, note := PythonReference(ctx, m.repo, dir)
	if note != "" {
		m.note("%s", note)
	}
	pages = append(pages, python...)
	m.without(len(pages) > 0)
	if len(pages) > mostPages {
		m.note("no reference: it would have %d pages, more than %d", len(pages), mostPages)
		return nil
	}
	for _, p := range pages {
		name, section, title := "reference/"+p.Short, "reference-"+strings.ToLower(p.Short), p.Name
		if len(pages) == 1 {
			name, section = "reference", "reference"
		}
		if section = strings.Map(plainRune, section); len(section) > 63 {
			section = section[:63]
		}
		at, ok, err := m.free(section, name)
		if err != nil {
			return err
		}
		if !ok || slices.ContainsFunc(m.Pages, func(o Page) bool { return strings.EqualFold(o.Path, at) || o.Section == section }) {
			m.note("no reference of %s: %s is not ours", p.Name, path.Join(m.Dir, name))
			continue
		}
		m.Pages = append(m.Pages, Page{Path: at, Title: title, Section: section})
		m.refs.Pages[at] = "# " + title + "\n\n" + p.Draft
	}
	return nil
}

func plainRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// untold are languages that have no reference here, by their files.
var untold = map[string]string{".js": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".rs": "Rust", ".rb": "Ruby", ".java": "Java", ".c": "C", ".cc": "C++", ".cpp": "C++", ".php": "PHP", ".cs": "C#", ".swift": "Swift", ".kt": "Kotlin"}

// without notes the languages that have no reference.
func (m *planner) without(some bool) {
	count := map[string]int{}
	for _, f := range m.repo.Files {
		if name := untold[path.Ext(f)]; name != "" {
			count[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] >= 3 || !some {
			m.note("no reference of the %s code: there is no tool here that tells its public names for sure", name)
		}
	}
}

// deliver writes the plan, the reference, and what each writer is given.
func (m *planner) deliver(c Call) error {
	if err := c.write(planFile, m.Plan); err != nil {
		return err
	}
	if err := c.write(refsFile, m.refs); err != nil {
		return err
	}
	names := []string{}
	for _, s := range m.Sections {
		names = append(names, s.Name)
		a, starter := m.assignment(s)
		if err := c.write("artifacts/sections/"+s.Name+".json", a); err != nil {
			return err
		}
		if err := c.write("artifacts/sections/"+s.Name+".md", []byte(starter)); err != nil {
			return err
		}
	}
	return c.write("artifacts/sections/all.json", names)
}

// assignment is the input of a writer.
type assignment struct {
	Project string            `json:"project"`
	Title   string            `json:"title"`
	Brief   string            `json:"brief"`
	Draft   string            `json:"draft"`             // the file to write
	Page    string            `json:"page"`              // where it is published
	Links   map[string]string `json:"links,omitempty"`   // to other pages, with their titles
	Current string            `json:"current,omitempty"` // what is there now
}

// assignment returns the input of a section's writer, and a text for a model that can do no better.
func (m *planner) assignment(s Section) (assignment, string) {
	i := slices.IndexFunc(m.Pages, func(p Page) bool { return p.Section == s.Name })
	p := m.Pages[i]
	a := assignment{Project: m.Title, Title: p.Title, Brief: s.Brief, Draft: p.Draft, Page: p.Path, Links: pageLinks(m.Plan, p)}
	if page, err := fs.ReadFile(m.target, p.Path); err == nil {
		if from, to, ok, err := findSection(page, p.Path, s.Name); ok && err == nil {
			a.Current = string(page[from:to])
		}
	}
	file, text := p.Draft, ""
	if s.Name == "overview" {
		text = m.starter(p)
	}
	if text == "" {
		file, text = nonePath(p), "No writer was available."
	}
	return a, fmt.Sprintf("write to `%s` this text:\n\n~~~~~\n%s\n~~~~~\n", file, strings.TrimSpace(text))
}

// pageLinks returns the addresses of the other pages, as seen from one, with their titles.
func pageLinks(p Plan, from Page) map[string]string {
	out := map[string]string{}
	for _, other := range p.Pages {
		if other.Path != from.Path && (other.Section != "reference" && !strings.HasPrefix(other.Section, "reference-") || len(out) < 20) {
			out[relativePath(from.Path, other.Path)] = other.Title
		}
	}
	return out
}

// relativePath returns the way from one page to another.
func relativePath(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(path.Dir(to), "/")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return path.Join(strings.Repeat("../", len(a)), path.Join(b...), path.Base(to))
}

// system describes the documentation system of a repository.
type system struct {
	name  string
	dir   string // of its pages
	ext   string // .md or .rst
	notes []string
}

// findSystem finds the documentation system of a repository. Where the user names a folder, that
// is where pages go. links are the symbolic links of the repository: its trees here have plain
// files in their place.
func findSystem(tree fs.FS, links map[string]string, wanted string) (system, error) {
	s, found := knownSystem(tree)
	if !found {
		s = system{dir: "docs", ext: ".md"}
	}
	if wanted != "" && path.Clean(wanted) != s.dir {
		s = system{dir: path.Clean(wanted), ext: ".md"}
	}
	if !fs.ValidPath(s.dir) || strings.EqualFold(strings.Split(s.dir, "/")[0], ".git") {
		return s, fault.New(fault.Usage, "%.100q is not a folder of a repository's files", s.dir).WithHint("name one with --set docs_dir=docs")
	}
	var err error
	s.dir, err = resolveLinks(tree, links, s.dir, 0)
	return s, err
}

// resolveLinks follows symbolic links on the way to a folder, as long as they stay in the repository.
func resolveLinks(tree fs.FS, links map[string]string, dir string, depth int) (string, error) {
	at := "."
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		to, link := links[at]
		if !link {
			if info, err := fs.Lstat(tree, at); err != nil {
				return dir, nil // it is to be made
			} else if !info.IsDir() {
				return "", fault.New(fault.Conflict, "%s is a file, and pages cannot be put into it", at).WithHint("name another folder with --set docs_dir=NAME")
			}
			continue
		}
		target := path.Join(path.Dir(at), to)
		if path.IsAbs(to) || !fs.ValidPath(target) || depth > 8 {
			return "", fault.New(fault.Conflict, "%s is a symbolic link out of the repository (to %.200s): pages put there would be somewhere else", at, to).
				WithHint("name a folder of the repository with --set docs_dir=NAME")
		}
		return resolveLinks(tree, links, path.Join(append([]string{target}, parts[i+1:]...)...), depth+1)
	}
	return dir, nil
}

var (
	mkdocsDir = text.Regexp(`(?m)^docs_dir:\s*["']?([^"'#\s]+)`)
	bookSrc   = text.Regexp(`(?m)^src\s*=\s*"([^"]+)"`)
)

// knownSystem looks for the files that documentation systems are configured with.
func knownSystem(tree fs.FS) (system, bool) {
	read := func(name string) (string, bool) {
		data, err := fs.ReadFile(tree, name)
		return string(data), err == nil
	}
	for _, dir := range []string{"docs", "doc", "docs/source", "doc/source", "docs/src", "documentation"} {
		if conf, ok := read(dir + "/conf.py"); ok {
			s := system{name: "sphinx", dir: dir, ext: ".rst"}
			if strings.Contains(conf, "myst") || strings.Contains(conf, "recommonmark") {
				s.ext = ".md"
			}
			return s, true
		}
	}
	for _, name := range []string{"mkdocs.yml", "mkdocs.yaml", "docs/mkdocs.yml"} {
		if conf, ok := read(name); ok {
			dir := "docs"
			if m := mkdocsDir().FindStringSubmatch(conf); m != nil {
				dir = m[1]
			}
			return system{name: "mkdocs", dir: path.Join(path.Dir(name), dir), ext: ".md"}, true
		}
	}
	for _, root := range []string{".", "website", "docs", "site"} {
		for _, ext := range []string{"js", "ts", "mjs", "cjs"} {
			if _, ok := read(path.Join(root, "docusaurus.config."+ext)); ok {
				s := system{name: "docusaurus", dir: path.Join(root, "docs"), ext: ".md"}
				if _, err := fs.Stat(tree, s.dir); err != nil && isFolder(tree, "docs") {
					s.dir = "docs"
				}
				return s, true
			}
		}
	}
	for _, root := range []string{".", "docs", "book", "guide", "doc"} {
		if conf, ok := read(path.Join(root, "book.toml")); ok {
			src := "src"
			if m := bookSrc().FindStringSubmatch(conf); m != nil {
				src = m[1]
			}
			return system{name: "mdbook", dir: path.Join(root, src), ext: ".md", notes: []string{
				"mdBook shows only what its SUMMARY.md lists: add the new pages to it"}}, true
		}
	}
	for _, root := range []string{".", "docs", "site", "website"} {
		for _, name := range []string{"hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "config.yaml"} {
			conf, ok := read(path.Join(root, name))
			if !ok || !strings.HasPrefix(name, "hugo") && !(strings.Contains(strings.ToLower(conf), "baseurl") && isFolder(tree, path.Join(root, "content"))) {
				continue
			}
			s := system{name: "hugo", dir: path.Join(root, "content"), ext: ".md"}
			if isFolder(tree, path.Join(s.dir, "docs")) {
				s.dir = path.Join(s.dir, "docs")
			}
			return s, true
		}
	}
	return system{}, false
}

func isFolder(tree fs.FS, name string) bool {
	info, err := fs.Stat(tree, name)
	return err == nil && info.IsDir()
}
