package facts

import (
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// jsFile is a file that was read.
type jsFile struct {
	s   *source
	m   *jsModule
	cli *jsCLI
}

// scriptClaims finds what npm packages export: what can be reached from the modules that
// their manifests name. Other files are their own affair.
func (t *tree) scriptClaims(projects []*project) []*claim {
	paths := t.pathsWith("source", "javascript", "typescript")
	read := each(paths, func(name string) jsFile {
		s := t.read(name)
		if s == nil || s.text() == "" {
			return jsFile{}
		}
		return jsFile{s, scanScript(s.text()), scanScriptCLI(s.text())}
	})
	files := map[string]jsFile{}
	for i, name := range paths {
		if read[i].s != nil {
			files[name] = read[i]
		}
	}
	var out []*claim
	for _, p := range projects {
		if p.language != "javascript" || p.root == nil || p.name == "" {
			continue
		}
		for _, e := range t.scriptEntries(p) {
			w := &jsReach{files: files, t: t, p: p, spec: e.spec, seen: map[string]bool{}}
			for _, file := range e.files {
				w.module(file, "*", 0)
			}
			out = append(out, w.moduleClaim(e.files))
			out = append(out, w.claims...)
		}
	}
	for _, name := range paths {
		f := files[name]
		p := owner(projects, "javascript", name)
		if f.cli == nil || p == nil || p.name == "" || inExamples(name) {
			continue
		}
		out = append(out, cliClaims(t.files[name].Language, p.place(), f.cli.program(t, p, name), f.s, f.cli.items)...)
	}
	return out
}

// jsEntry is a module that users import, with the files that say what it is: code and types.
type jsEntry struct {
	spec  string
	files []string
}

// scriptEntries finds the files behind main, module, types and exports.
func (t *tree) scriptEntries(p *project) []jsEntry {
	n := p.root
	var mains []string
	if v := n.get("exports"); v != nil {
		if at := v.get("."); at != nil {
			v = at
		}
		mains = append(mains, targetsOf(v, 0)...)
	}
	for _, key := range []string{"types", "typings", "module", "main"} {
		mains = append(mains, n.get(key).text())
	}
	mains = append(mains, "index.js", "index.ts", "src/index.ts", "src/index.js", "src/main.ts", "lib/index.js")
	entries := []jsEntry{{spec: p.name, files: t.scriptFiles(p, mains)}}
	for _, m := range exportsOf(n) {
		entries = append(entries, jsEntry{spec: p.name + strings.TrimPrefix(m.key, "."), files: t.scriptFiles(p, targetsOf(m.node, 0))})
	}
	return entries
}

// targetsOf are the strings of an exports value, of all conditions.
func targetsOf(n *node, depth int) []string {
	if n == nil || depth > 8 {
		return nil
	}
	if s := n.text(); s != "" {
		return []string{s}
	}
	var out []string
	for _, m := range n.members {
		if !strings.HasPrefix(m.key, "./") {
			out = append(out, targetsOf(m.node, depth+1)...)
		}
	}
	return out
}

// scriptFiles finds the source of the first target that has one, and hand-written types.
// What is built is looked for in src.
func (t *tree) scriptFiles(p *project, targets []string) []string {
	var code, types string
	for _, target := range targets {
		if target == "" {
			continue
		}
		target = path.Clean(strings.TrimPrefix(target, "./"))
		file := t.scriptFile(path.Join(p.dir, target))
		if file == "" {
			if first, rest, ok := strings.Cut(target, "/"); ok && slices.Contains([]string{"dist", "lib", "build", "out", "esm", "cjs", "es"}, first) {
				for _, sub := range []string{"cjs/", "esm/", "es/", "types/", "commonjs/", "browser/", "src/"} {
					rest = strings.TrimPrefix(rest, sub)
				}
				file = t.scriptFile(path.Join(p.dir, "src", rest))
			}
		}
		switch {
		case file == "":
		case strings.HasSuffix(file, ".d.ts") || strings.HasSuffix(file, ".d.mts") || strings.HasSuffix(file, ".d.cts"):
			if types == "" {
				types = file
			}
		case code == "":
			code = file
		}
	}
	if code != "" && t.files[code].Language == "typescript" {
		types = ""
	}
	return slices.DeleteFunc([]string{types, code}, func(s string) bool { return s == "" })
}

var scriptEnds = []string{".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".d.ts", "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.d.ts"}

// scriptFile finds the source of a module by its path, with or without an ending.
func (t *tree) scriptFile(p string) string {
	ok := func(name string) bool { f, there := t.files[name]; return there && f.Role == "source" }
	if ok(p) {
		return p
	}
	stem := p
	for _, end := range []string{".d.ts", ".d.mts", ".js", ".mjs", ".cjs", ".jsx"} {
		if s, found := strings.CutSuffix(p, end); found {
			stem = s
			break
		}
	}
	for _, end := range scriptEnds {
		if ok(stem + end) {
			return stem + end
		}
	}
	return ""
}

// jsReach walks from an entry over what modules export from each other.
type jsReach struct {
	files  map[string]jsFile
	t      *tree
	p      *project
	spec   string
	seen   map[string]bool
	claims []*claim
}

// module claims what a file exports: all of it, or one name as another.
func (w *jsReach) module(file, name string, depth int) { w.named(file, name, name, depth) }

func (w *jsReach) named(file, name, as string, depth int) {
	f, ok := w.files[file]
	key := file + "\x00" + name + "\x00" + as
	if !ok || f.m == nil || depth > 20 || w.seen[key] || len(w.claims) > claimLimit {
		return
	}
	w.seen[key] = true
	for _, e := range f.m.exports {
		if e.name == "*" {
			if next := w.follow(file, e.from); next != "" {
				w.named(next, name, as, depth+1)
			}
			continue
		}
		if name != "*" && e.name != name || name == "*" && depth > 0 && e.name == "default" {
			continue
		}
		shown := e.name
		if name != "*" {
			shown = as
		}
		if shown == "" {
			continue
		}
		switch {
		case e.from != "":
			if next := w.follow(file, e.from); next != "" {
				w.named(next, e.local, shown, depth+1)
			}
		case e.decl != nil:
			w.claim(f, shown, e.decl)
		case len(f.m.decls[e.local]) == 0:
			if imp, ok := f.m.imports[e.local]; ok {
				if next := w.follow(file, imp.from); next != "" {
					w.named(next, imp.name, shown, depth+1)
				}
			}
		default:
			for _, d := range f.m.decls[e.local] {
				w.claim(f, shown, d)
			}
		}
	}
}

// follow resolves a relative module.
func (w *jsReach) follow(file, spec string) string {
	if !strings.HasPrefix(spec, ".") {
		return ""
	}
	return w.t.scriptFile(path.Join(path.Dir(file), spec))
}

func (w *jsReach) claim(f jsFile, shown string, d *jsDecl) {
	language := w.t.files[f.s.path].Language
	if shown == "default" && d.name != "" && d.name != "default" {
		shown = d.name
	}
	if strings.HasPrefix(shown, "_") {
		return
	}
	place := w.spec
	add := func(kind docs.Kind, name string, d *jsDecl) {
		// The language is not part of what it is: types can be declared beside the code.
		c := newClaim("javascript", kind, place, name).spoken(language).in(w.spec).signed(d.signature).says(d.doc)
		w.claims = append(w.claims, c.at(f.s, f.s.lineAt(d.from), f.s.lineAt(max(d.from, d.to-1))))
	}
	add(d.kind, shown, d)
	for i := range d.members {
		add(docs.Method, shown+"."+d.members[i].name, &d.members[i])
	}
}

// moduleClaim is about the entry itself; the manifest's words describe the package.
func (w *jsReach) moduleClaim(files []string) *claim {
	for _, name := range files {
		f, ok := w.files[name]
		if !ok || f.m == nil || len(w.claims) == 0 {
			continue
		}
		c := newClaim("javascript", docs.Module, w.p.place(), w.spec).in(w.spec).spoken(w.t.files[name].Language).
			signed(importLine(w.spec, w.p.root, slices.ContainsFunc(f.m.exports, func(e jsExport) bool { return e.name == "default" }))).says(f.m.doc)
		return c.at(f.s, max(1, f.s.lineAt(f.m.docSpan.from)), max(1, f.s.lineAt(max(0, f.m.docSpan.to-1))))
	}
	return nil
}
