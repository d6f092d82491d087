package facts

import (
	"maps"
	"path"
	"slices"
	"strconv"

	"ramet/internal/docs"
)

// cargoManifest reads Cargo.toml. A workspace without a package of its own has only members.
func cargoManifest(t *tree, s *source, p *project) {
	c := parseTOML(s.text())
	if c == nil {
		return
	}
	p.crate = c
	at := func(keys ...string) (*source, int, int) {
		from, to := c.where(s, keys...)
		return s, from, to
	}
	field := func(key string) (value string, where func() (*source, int, int)) {
		if m := c.table("package", key); m["workspace"] == true {
			return t.workspaceField(p.dir, key)
		}
		return c.text("package", key), func() (*source, int, int) { return at("package", key) }
	}
	name, where := field("name")
	if name == "" {
		return
	}
	w, from, to := where()
	p.set(&p.name, "name", name, "The Rust crate is called `"+name+"`.", w, from, to)
	if v, where := field("version"); v != "" {
		w, from, to := where()
		p.set(&p.version, "version", v, "The version of the crate `"+name+"` is "+v+".", w, from, to)
	}
	if v, where := field("description"); v != "" {
		w, from, to := where()
		p.set(&p.description, "description", v, v, w, from, to)
	}
	if v, where := field("license"); v != "" {
		w, from, to := where()
		p.licensed(v, w, from, to)
	}
	if v, where := field("rust-version"); v != "" {
		w, from, to := where()
		p.needs("Rust", v, "Needs Rust "+v+" or later.", w, from, to)
	}
	for _, dep := range slices.Sorted(maps.Keys(c.table("dependencies"))) {
		version, _ := c.get("dependencies", dep).(string)
		if m := c.table("dependencies", dep); m != nil {
			version, _ = m["version"].(string)
			if m["workspace"] == true {
				version, _ = t.workspaceField(p.dir, "dependencies", dep)
			}
			if m["optional"] == true {
				w, from, to := at("dependencies", dep)
				p.needs(dep, version, "Uses `"+dep+"` if a feature asks for it.", w, from, to)
				continue
			}
		}
		w, from, to := at("dependencies", dep)
		p.needs(dep, version, dependsOn(dep, version), w, from, to)
	}
	p.cargoFeatures(s)
	p.cargoTargets(t, s)
}

// workspaceField finds a value that members inherit, in a manifest above.
func (t *tree) workspaceField(dir string, keys ...string) (string, func() (*source, int, int)) {
	group := "package"
	if len(keys) > 1 {
		group, keys = keys[0], keys[1:]
	}
	for dir != "." {
		dir = path.Dir(dir)
		s := t.read(path.Join(dir, "Cargo.toml"))
		if s == nil {
			continue
		}
		if c := parseTOML(s.text()); c != nil && c.table("workspace") != nil {
			v := c.text("workspace", group, keys[0])
			if m := c.table("workspace", group, keys[0]); m != nil {
				v, _ = m["version"].(string)
			}
			return v, func() (*source, int, int) {
				from, to := c.where(s, "workspace", group, keys[0])
				return s, from, to
			}
		}
	}
	return "", nil
}

func (p *project) cargoFeatures(s *source) {
	for _, f := range slices.Sorted(maps.Keys(p.crate.table("features"))) {
		from, to := p.crate.where(s, "features", f)
		text := "The crate `" + p.name + "` has the feature `" + f + "`."
		if f == "default" {
			text = "These features of the crate `" + p.name + "` are on by default."
		}
		p.claims = append(p.claims, newClaim("rust", docs.Convention, p.place(), "feature "+f).
			in(p.name).signed(string(s.lines(from, to))).says(text).at(s, from, to))
	}
}

// cargoTargets finds the library and the programs, by the manifest and by cargo's places.
func (p *project) cargoTargets(t *tree, s *source) {
	if p.crate.get("package", "publish") != false {
		_, lib := t.files[path.Join(p.dir, "src/lib.rs")]
		if lib || p.crate.table("lib") != nil {
			p.installs("library", "cargo add "+p.name, "Add the library to a project with `cargo add "+p.name+"`.")
		}
	}
	type program struct{ name, file string }
	var found []program
	bins, _ := p.crate.get("bin").([]map[string]any)
	for i, b := range bins {
		name, _ := b["name"].(string)
		file, _ := b["path"].(string)
		if name == "" {
			continue
		}
		from, to := p.crate.where(s, "bin", strconv.Itoa(i), "name")
		p.runs(name, file, "", s, from, to)
		found = append(found, program{name, file})
	}
	if _, ok := t.files[path.Join(p.dir, "src/main.rs")]; ok && !slices.ContainsFunc(found, func(b program) bool { return b.file == "src/main.rs" || b.name == p.name }) {
		p.runs(p.name, "src/main.rs", "", p.manifest, p.nameFrom, p.nameTo)
		found = append(found, program{p.name, "src/main.rs"})
	}
	if len(found) > 0 && p.crate.get("package", "publish") != false {
		p.installs("program", "cargo install "+p.name, "Install the program with `cargo install "+p.name+"`.")
	}
}
