package facts

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// requirement takes a PEP 508 string apart: name, extras and marker are told from the range.
var requirement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*\(?([^;#)]*)\)?`)
})

// needLimit is how many entries of one list are read.
const needLimit = 500

func (p *project) pyNeeds(spec, extra string, s *source, from, to int) {
	m := requirement().FindStringSubmatch(spec)
	if m == nil {
		return
	}
	version := strings.TrimSpace(m[3])
	if strings.HasPrefix(version, "@") {
		version = ""
	}
	text := dependsOn(m[1], version)
	if extra != "" {
		text = "Uses `" + m[1] + "` with the extra `" + extra + "`."
	}
	p.needs(m[1], version, text, s, from, to)
}

func (p *project) pyName(name string, s *source, from, to int) {
	if p.name != "" || strings.TrimSpace(name) == "" {
		return
	}
	p.set(&p.name, "name", name, "The Python package is called `"+name+"`.", s, from, to)
	p.installs("library", "pip install "+p.name, "Install it with `pip install "+p.name+"`.")
}

func (p *project) pyVersion(version string, s *source, from, to int) {
	p.set(&p.version, "version", version, "The version of the package is "+version+".", s, from, to)
}

func (p *project) pyPython(r string, s *source, from, to int) {
	if r = strings.TrimSpace(r); r != "" {
		text := "Needs Python `" + r + "`."
		if v, ok := strings.CutPrefix(r, ">="); ok && !strings.ContainsAny(v, ",<=!*") {
			text = "Needs Python " + strings.TrimSpace(v) + " or later."
		}
		p.needs("Python", r, text, s, from, to)
	}
}

// pyprojectManifest reads the tables of PEP 621 and of poetry.
func pyprojectManifest(_ *tree, s *source, p *project) {
	t := parseTOML(s.text())
	if t == nil {
		return
	}
	for _, base := range [][]string{{"project"}, {"tool", "poetry"}} {
		at := func(keys ...string) (*source, int, int) {
			from, to := t.where(s, append(base[:len(base):len(base)], keys...)...)
			return s, from, to
		}
		text := func(keys ...string) string { return t.text(append(base[:len(base):len(base)], keys...)...) }
		tab := func(keys ...string) map[string]any { return t.table(append(base[:len(base):len(base)], keys...)...) }
		if v := text("name"); v != "" {
			w, from, to := at("name")
			p.pyName(v, w, from, to)
		}
		if v := text("version"); v != "" {
			w, from, to := at("version")
			p.pyVersion(v, w, from, to)
		}
		if v := text("description"); v != "" {
			w, from, to := at("description")
			p.set(&p.description, "description", v, v, w, from, to)
		}
		for _, keys := range [][]string{{"license"}, {"license", "text"}} {
			if v := text(keys...); v != "" {
				w, from, to := at(keys...)
				p.licensed(v, w, from, to)
			}
		}
		if v := text("requires-python"); v != "" {
			w, from, to := at("requires-python")
			p.pyPython(v, w, from, to)
		}
		list, _ := t.get(append(base[:len(base):len(base)], "dependencies")...).([]any)
		w, from, to := at("dependencies")
		for _, d := range list[:min(len(list), needLimit)] {
			if spec, ok := d.(string); ok {
				f, l := lineWith(s, from, to, spec)
				p.pyNeeds(spec, "", w, f, l)
			}
		}
		for _, extra := range slices.Sorted(maps.Keys(tab("optional-dependencies"))) {
			list, _ := tab("optional-dependencies")[extra].([]any)
			w, from, to := at("optional-dependencies", extra)
			for _, d := range list[:min(len(list), needLimit)] {
				if spec, ok := d.(string); ok {
					f, l := lineWith(s, from, to, spec)
					p.pyNeeds(spec, extra, w, f, l)
				}
			}
		}
		if base[0] == "tool" {
			for _, dep := range slices.Sorted(maps.Keys(tab("dependencies"))) {
				v, _ := tab("dependencies")[dep].(string)
				if m, ok := tab("dependencies")[dep].(map[string]any); ok {
					v, _ = m["version"].(string)
				}
				w, from, to := at("dependencies", dep)
				if dep == "python" {
					p.pyPython(v, w, from, to)
					continue
				}
				p.needs(dep, v, dependsOn(dep, v), w, from, to)
			}
		}
		for _, group := range []string{"scripts", "gui-scripts"} {
			for _, name := range slices.Sorted(maps.Keys(tab(group))) {
				how, _ := tab(group)[name].(string)
				w, from, to := at(group, name)
				p.runs(name, how, "", w, from, to)
			}
		}
	}
}

// lineWith narrows a range of lines to the one that holds a text, if there is one.
func lineWith(s *source, from, to int, text string) (int, int) {
	for l := from; l <= to; l++ {
		if strings.Contains(string(s.lines(l, l)), text) {
			return l, l
		}
	}
	return from, to
}

// setupCfgManifest reads the declarative form of setuptools.
func setupCfgManifest(_ *tree, s *source, p *project) {
	if len(s.data) > 128<<10 {
		return
	}
	type entry struct {
		value    string
		lines    []string // of a list
		from, to int
	}
	values := map[string]entry{}
	section, key := "", ""
	for l := 1; l <= s.count(); l++ {
		line := strings.TrimRight(tidy(string(s.lines(l, l))), "\n ")
		switch bare := strings.TrimSpace(line); {
		case bare == "" || bare[0] == '#' || bare[0] == ';':
		case bare[0] == '[' && strings.HasSuffix(bare, "]"):
			section, key = bare[1:len(bare)-1], ""
		case (line[0] == ' ' || line[0] == '\t') && key != "":
			e := values[key]
			e.lines, e.to = append(e.lines, bare), l
			values[key] = e
		default:
			name, value, ok := strings.Cut(line, "=")
			if !ok {
				name, value, _ = strings.Cut(line, ":")
			}
			key = section + "." + strings.ReplaceAll(strings.TrimSpace(name), "-", "_")
			values[key] = entry{value: strings.TrimSpace(value), from: l, to: l}
		}
	}
	with := func(key string, use func(v string, from, to int)) {
		e, ok := values[key]
		e.value = strings.TrimSpace(e.value + "\n" + strings.Join(e.lines, "\n"))
		if ok && e.value != "" && !strings.HasPrefix(e.value, "file:") && !strings.HasPrefix(e.value, "attr:") {
			use(e.value, e.from, e.to)
		}
	}
	with("metadata.name", func(v string, from, to int) { p.pyName(v, s, from, to) })
	with("metadata.version", func(v string, from, to int) { p.pyVersion(v, s, from, to) })
	for _, k := range []string{"metadata.description", "metadata.summary"} {
		with(k, func(v string, from, to int) {
			p.set(&p.description, "description", v, oneLine(v, textLimit), s, from, to)
		})
	}
	with("metadata.license", func(v string, from, to int) { p.licensed(v, s, from, to) })
	with("options.python_requires", func(v string, from, to int) { p.pyPython(v, s, from, to) })
	with("options.install_requires", func(v string, from, to int) {
		for i, spec := range strings.Split(v, "\n") {
			if i == needLimit {
				break
			}
			f, l := lineWith(s, from, to, spec)
			p.pyNeeds(spec, "", s, f, l)
		}
	})
	with("options.entry_points.console_scripts", func(v string, from, to int) {
		for i, spec := range strings.Split(v, "\n") {
			if i == needLimit {
				break
			}
			f, l := lineWith(s, from, to, spec)
			p.pyScript(spec, s, f, l)
		}
	})
}

// pyScript reads "name = module:function".
func (p *project) pyScript(spec string, s *source, from, to int) {
	name, how, ok := strings.Cut(spec, "=")
	if name = strings.TrimSpace(name); ok && name != "" {
		p.runs(name, strings.TrimSpace(how), "", s, from, to)
	}
}

// setupPyManifest reads literal arguments of setup(); it is never run.
func setupPyManifest(_ *tree, s *source, p *project) {
	lines := pyLines(s.text())
	constants := map[string]pyTok{}
	for _, l := range lines {
		if l.indent == 0 && len(l.toks) == 3 && l.is(1, "=") && l.toks[2].kind == 's' {
			constants[l.toks[0].text] = l.toks[2]
		}
	}
	for _, l := range lines {
		for i := range l.toks {
			if !l.is(i, "setup") || !l.is(i+1, "(") || l.is(i-1, "def") {
				continue
			}
			for _, a := range pyArgs(l.toks, i+1) {
				if tok, ok := constants[a.toks[0].text]; ok && len(a.toks) == 1 && a.toks[0].kind == 'n' {
					a.toks = []pyTok{tok}
				}
				from, to := s.lineAt(a.toks[0].from), s.lineAt(a.toks[len(a.toks)-1].to-1)
				v, isText := pyText(a.toks)
				switch a.name {
				case "name":
					p.pyName(v, s, from, to)
				case "version":
					if isText {
						p.pyVersion(v, s, from, to)
					}
				case "description":
					p.set(&p.description, "description", v, v, s, from, to)
				case "license":
					p.licensed(v, s, from, to)
				case "python_requires":
					p.pyPython(v, s, from, to)
				case "install_requires":
					for _, t := range a.toks {
						if spec, ok := pyValue(t); ok {
							p.pyNeeds(spec, "", s, s.lineAt(t.from), s.lineAt(t.to-1))
						}
					}
				case "entry_points":
					for _, t := range a.toks {
						if spec, ok := pyValue(t); ok && strings.Contains(spec, "=") && strings.Contains(spec, ":") && !strings.Contains(spec, "[") {
							p.pyScript(spec, s, s.lineAt(t.from), s.lineAt(t.to-1))
						}
					}
				}
			}
		}
	}
}

// requirementsManifest reads what a project without a manifest needs.
func requirementsManifest(_ *tree, s *source, p *project) {
	if p.name != "" { // the manifest says it better
		return
	}
	for l := 1; l <= s.count(); l++ {
		line := strings.TrimSpace(tidy(string(s.lines(l, l))))
		if line != "" && line[0] != '#' && line[0] != '-' && !strings.Contains(line, "://") {
			p.pyNeeds(line, "", s, l, l)
		}
	}
}
