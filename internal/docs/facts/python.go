package facts

import (
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// pythonClaims finds the modules that users can import and what they declare. A name that a
// package takes up from one of its modules is claimed for the package: that is how users
// spell it.
func (t *tree) pythonClaims(projects []*project) []*claim {
	paths := t.pathsWith("source", "python")
	type read struct {
		s *source
		m *pyModule
		c *pyCommands
	}
	found := each(paths, func(name string) read {
		s := t.read(name)
		if s == nil || s.text() == "" {
			return read{}
		}
		m := scanPython(s.text())
		m.path, m.name = name, t.pyModuleName(name)
		cli := pyCLI(s.text())
		return read{s, m, cli}
	})
	modules := map[string]*pyModule{}
	for _, f := range found {
		if f.m != nil && f.m.name != "" && !inExamples(f.m.path) && modules[f.m.name] == nil {
			modules[f.m.name] = f.m
		}
	}
	homes := pyHomes(modules)
	var out []*claim
	for _, f := range found {
		if f.m == nil || inExamples(f.m.path) {
			continue
		}
		p := owner(projects, "python", f.m.path)
		if f.m.name != "" && modules[f.m.name] == f.m {
			out = append(out, f.m.claims(f.s, homes)...)
		}
		if program := pyProgram(p, f.m, f.c); program != "" {
			out = append(out, cliClaims("python", "", program, f.s, f.c.items)...)
		}
		if pkg, ok := strings.CutSuffix(f.m.name, ".__main__"); ok && publicModule(pkg) {
			out = append(out, newClaim("python", docs.Entry, pkg, "python -m "+pkg).in(pkg).
				signed("python -m "+pkg).says(pyDocText(f.m.doc)).at(f.s, 1, f.s.lineAt(max(0, f.m.docEnd-1))))
		}
	}
	return out
}

// pyProgram is the name that a command line has for users: as the parser says, else the
// console script of this module, else how the module or file is run. If its commands belong
// to a group of another module, they are those of the only script. Nothing where we do not
// know how it is called.
func pyProgram(p *project, m *pyModule, c *pyCommands) string {
	if c == nil || len(c.items) == 0 {
		return ""
	}
	if c.program != "" {
		return c.program
	}
	var scripts []string
	if p != nil {
		for _, cl := range p.claims {
			if cl.Kind != docs.Entry {
				continue
			}
			module, _, _ := strings.Cut(cl.Signature, ":")
			if module != "" && (module == m.name || module+".__main__" == m.name) {
				return cl.Name
			}
			scripts = append(scripts, cl.Name)
		}
	}
	switch pkg, ok := strings.CutSuffix(m.name, ".__main__"); {
	case ok:
		return "python -m " + pkg
	case c.foreign && len(scripts) == 1:
		return scripts[0]
	case c.script && m.name != "" && strings.Contains(m.name, "."):
		return "python -m " + m.name
	case c.script:
		return "python " + m.path
	}
	return ""
}

// pyModuleName is the dotted name by which a file is imported; nothing for a script.
func (t *tree) pyModuleName(file string) string {
	dir, base := path.Split(file)
	dir = path.Clean(dir)
	stem := strings.TrimSuffix(strings.TrimSuffix(base, "i"), ".py")
	if inDir(dir+"/", docDirs) || inDir(dir+"/", []string{"scripts", "script", "tools", "benchmarks", "bin", "ci", ".github"}) && !t.isPackage(dir) || !identifier(stem) {
		return ""
	}
	parts := []string{}
	if stem != "__init__" {
		parts = append(parts, stem)
	}
	for d := dir; d != "." && t.isPackage(d); d = path.Dir(d) {
		parts = append(parts, path.Base(d))
	}
	if len(parts) == 1 && !t.isPackage(dir) && dir != "." && path.Base(dir) != "src" && path.Base(dir) != "lib" && t.manifestIn(dir) == "" {
		return ""
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}

func (t *tree) isPackage(dir string) bool {
	_, py := t.files[path.Join(dir, "__init__.py")]
	_, pyi := t.files[path.Join(dir, "__init__.pyi")]
	return py || pyi
}

// manifestIn says whether a folder is the root of a Python project.
func (t *tree) manifestIn(dir string) string {
	for _, name := range []string{"pyproject.toml", "setup.py", "setup.cfg"} {
		if _, ok := t.files[path.Join(dir, name)]; ok {
			return name
		}
	}
	return ""
}

func identifier(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func publicModule(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if strings.HasPrefix(part, "_") {
			return false
		}
	}
	return name != "" && name != "setup" && name != "conftest"
}

// pyHomes says for "module\x00name" under which package users find it. Packages nearer to
// the root win; chains of five are followed.
func pyHomes(modules map[string]*pyModule) map[string]string {
	homes := map[string]string{}
	names := slices.SortedFunc(mapsKeys(modules), func(a, b string) int {
		if d := strings.Count(a, ".") - strings.Count(b, "."); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		m := modules[name]
		if !publicModule(name) || !strings.HasPrefix(path.Base(m.path), "__init__.") {
			continue
		}
		seen := map[string]bool{}
		for _, imp := range m.imports {
			m.takeUp(modules, homes, seen, name, imp, 5)
		}
	}
	return homes
}

func (m *pyModule) takeUp(modules map[string]*pyModule, homes map[string]string, seen map[string]bool, home string, imp pyImport, depth int) {
	as := imp.as
	target := modules[m.resolve(imp.from)]
	if target == nil || target == m || depth == 0 || seen[target.name+"\x00"+imp.name] {
		return
	}
	seen[target.name+"\x00"+imp.name] = true
	public := func(name string) bool {
		own := modules[home]
		return !strings.HasPrefix(name, "_") && (!own.hasAll || slices.Contains(own.all, name) || own.openAll && imp.name == "*")
	}
	here := false
	for _, it := range target.items {
		if imp.name == "*" && target.shows(it) && public(it.name) || it.name == imp.name && as == imp.name && public(as) {
			key := target.name + "\x00" + it.name
			if homes[key] == "" {
				homes[key] = home
			}
			here = true
		}
	}
	if here && imp.name != "*" {
		return
	}
	for _, next := range target.imports {
		if imp.name == "*" || next.as == imp.name {
			target.takeUp(modules, homes, seen, home, next, depth-1)
		}
	}
}

// resolve makes a relative import absolute.
func (m *pyModule) resolve(from string) string {
	rest := strings.TrimLeft(from, ".")
	dots := len(from) - len(rest)
	if dots == 0 {
		return from
	}
	parts := strings.Split(m.name, ".")
	if strings.HasPrefix(path.Base(m.path), "__init__.") {
		dots--
	}
	if dots > len(parts) {
		return ""
	}
	parts = parts[:len(parts)-dots]
	if rest != "" {
		parts = append(parts, rest)
	}
	return strings.Join(parts, ".")
}

// shows says whether a name of the module is public in it.
func (m *pyModule) shows(it pyItem) bool {
	top, _, _ := strings.Cut(it.name, ".")
	if m.hasAll {
		return slices.Contains(m.all, top)
	}
	return it.kind != docs.Value || capital(top)
}

// claims are those of the module and of what it declares.
func (m *pyModule) claims(s *source, homes map[string]string) []*claim {
	var out []*claim
	public := publicModule(m.name)
	if public {
		to := 1
		if m.doc != "" {
			to = s.lineAt(m.docEnd - 1)
		}
		if m.doc != "" || len(m.items) > 0 || len(m.imports) > 0 {
			out = append(out, newClaim("python", docs.Module, m.name, "").called(m.name).in(m.name).
				signed("import "+m.name).says(pyDocText(m.doc)).at(s, 1, to))
		}
	}
	for _, it := range m.items {
		top, _, _ := strings.Cut(it.name, ".")
		home := homes[m.name+"\x00"+top]
		if home == "" {
			if !public || !m.shows(it) {
				continue
			}
			home = m.name
		}
		out = append(out, newClaim("python", it.kind, home, it.name).in(home).
			signed(it.signature).says(pyDocText(it.doc)).at(s, s.lineAt(it.from), s.lineAt(it.to-1)))
	}
	return out
}
