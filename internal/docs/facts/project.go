package facts

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// project is what one manifest describes; a repository can hold several.
type project struct {
	dir         string // folder, "." for the root
	language    string // go, python, javascript or rust
	name        string
	version     string
	description string
	licence     string
	claims      []*claim
	manifest    *source
	nameFrom    int // lines of the name, evidence for what follows from it
	nameTo      int

	replaced bool   // go: has replace directives, so that go install refuses
	root     *node  // javascript: the manifest
	crate    *table // rust: the manifest
}

// projects reads all manifests, shallow ones first.
func (t *tree) projects() []*project {
	var out []*project
	byPlace := map[string]*project{}
	files := slices.Clone(t.inv.Files)
	slices.SortStableFunc(files, func(a, b docs.File) int { // what a manifest says comes first
		return cmp.Compare(b01(path.Base(a.Path) == "requirements.txt"), b01(path.Base(b.Path) == "requirements.txt"))
	})
	for _, f := range files {
		dir := path.Dir(f.Path)
		if f.Role != "manifest" || inDir(dir+"/", testDirs) || inDir(dir+"/", exampleDirs) {
			continue
		}
		var read func(*tree, *source, *project)
		language := ""
		switch base := path.Base(f.Path); {
		case base == "go.mod":
			language, read = "go", goManifest
		case base == "Cargo.toml":
			language, read = "rust", cargoManifest
		case base == "package.json":
			language, read = "javascript", packageManifest
		case base == "pyproject.toml":
			language, read = "python", pyprojectManifest
		case base == "setup.cfg":
			language, read = "python", setupCfgManifest
		case base == "setup.py":
			language, read = "python", setupPyManifest
		case base == "requirements.txt":
			language, read = "python", requirementsManifest
		default:
			continue
		}
		s := t.read(f.Path)
		if s == nil || s.text() == "" {
			continue
		}
		p := byPlace[language+"\x00"+dir]
		if p == nil {
			p = &project{dir: dir, language: language, manifest: s}
			byPlace[language+"\x00"+dir] = p
			out = append(out, p)
		}
		read(t, s, p)
	}
	// A folder with requirements alone is no package: it has needs, but no name.
	slices.SortStableFunc(out, func(a, b *project) int {
		return cmp.Or(cmp.Compare(depthOf(a.dir), depthOf(b.dir)), cmp.Compare(a.dir, b.dir), cmp.Compare(a.language, b.language))
	})
	return out
}

func depthOf(dir string) int {
	if dir == "." {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

func (t *tree) manifestClaims(projects []*project) []*claim {
	var out []*claim
	for _, p := range projects {
		for _, c := range p.claims {
			if c.Module == "" { // it stood before the name
				c.in(p.name)
			}
		}
		out = append(out, p.claims...)
	}
	return out
}

// owner is the deepest project of the language around a file, or nil.
func owner(projects []*project, language, file string) *project {
	var best *project
	for _, p := range projects {
		if p.language == language && within(file, p.dir) && (best == nil || len(p.dir) > len(best.dir) || best.dir == ".") {
			best = p
		}
	}
	return best
}

// within says whether a file lies in a folder.
func within(file, dir string) bool { return dir == "." || strings.HasPrefix(file, dir+"/") }

// place is the folder as a part of ids.
func (p *project) place() string {
	if p.dir == "." {
		return ""
	}
	return p.dir
}

// set makes the claim of a name, version or description, if it is the first to say so.
func (p *project) set(field *string, what, value, sentence string, s *source, from, to int) {
	value = strings.TrimSpace(value)
	if value == "" || *field != "" {
		return
	}
	*field = value
	if what == "name" {
		p.nameFrom, p.nameTo, p.manifest = from, to, s
	}
	p.claims = append(p.claims, newClaim(p.language, docs.Project, p.place(), what).
		in(p.name).signed(value).says(sentence).at(s, from, to))
}

// needs makes the claim of a dependency or a language version.
func (p *project) needs(name, version, sentence string, s *source, from, to int) {
	if name = strings.TrimSpace(name); name == "" {
		return
	}
	p.claims = append(p.claims, newClaim(p.language, docs.Requires, p.place(), name).
		in(p.name).signed(version).says(sentence).at(s, from, to))
}

// installs makes the claim of a command that installs it. Other evidence may be added.
func (p *project) installs(what, command, sentence string) *claim {
	c := newClaim(p.language, docs.Install, p.place(), what).called(p.name).in(p.name).
		signed(command).says(sentence).at(p.manifest, p.nameFrom, p.nameTo)
	p.claims = append(p.claims, c)
	return c
}

// runs makes the claim of something that can be run.
func (p *project) runs(name, how, sentence string, s *source, from, to int) {
	p.claims = append(p.claims, newClaim(p.language, docs.Entry, p.place(), name).
		in(p.name).signed(how).says(sentence).at(s, from, to))
}

// dependsOn is the sentence for a dependency.
func dependsOn(name, version string) string {
	if version == "" || version == "*" {
		return "Depends on `" + name + "`."
	}
	return "Depends on `" + name + "` (`" + version + "`)."
}
