package facts

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"ramet/internal/docs"
)

// packageManifest reads package.json.
func packageManifest(t *tree, s *source, p *project) {
	n := parseJSON(s.data)
	if n == nil || n.members == nil {
		return
	}
	p.root = n
	at := func(v *node) (from, to int) { return s.lineAt(v.from), s.lineAt(v.to - 1) }
	name := n.get("name").text()
	if name == "" {
		return // a file that only sets "type": "module", for example
	}
	from, to := at(n.get("name"))
	p.set(&p.name, "name", name, "The npm package is called `"+name+"`.", s, from, to)
	if v := n.get("version"); v.text() != "" {
		from, to := at(v)
		p.set(&p.version, "version", v.text(), "The version of the package `"+name+"` is "+v.text()+".", s, from, to)
	}
	if v := n.get("description"); v.text() != "" {
		from, to := at(v)
		p.set(&p.description, "description", v.text(), v.text(), s, from, to)
	}
	if v := n.get("license"); v.text() != "" {
		from, to := at(v)
		p.licensed(v.text(), s, from, to)
	}
	members := func(key string, use func(m member, from, to int)) {
		if v := n.get(key); v != nil {
			for _, m := range v.members {
				// Key and value can stand on different lines.
				use(m, s.lineAt(m.at-1), s.lineAt(m.to-1))
			}
		}
	}
	members("engines", func(m member, from, to int) {
		engine := map[string]string{"node": "Node.js"}[m.key]
		if engine == "" {
			engine = m.key
		}
		if v := m.text(); v != "" {
			p.needs(engine, v, "Needs "+engine+" `"+v+"`.", s, from, to)
		}
	})
	members("dependencies", func(m member, from, to int) {
		p.needs(m.key, m.text(), dependsOn(m.key, m.text()), s, from, to)
	})
	members("peerDependencies", func(m member, from, to int) {
		p.needs(m.key, m.text(), "Expects `"+m.key+"` (`"+m.text()+"`) in the project that uses it.", s, from, to)
	})
	run := t.scriptRunner(p.dir)
	members("scripts", func(m member, from, to int) {
		if m.text() == "" || lifecycle(m.key, n) {
			return
		}
		p.claims = append(p.claims, newClaim("javascript", docs.Convention, p.place(), run+" "+m.key).
			in(name).signed(run+" "+m.key).says("`"+run+" "+m.key+"` runs `"+oneLine(m.text(), 300)+"`.").at(s, from, to))
	})
	p.npmTargets(s, members)
}

// lifecycle says whether npm runs a script by itself, around another.
func lifecycle(script string, n *node) bool {
	for _, prefix := range []string{"pre", "post"} {
		if base, ok := strings.CutPrefix(script, prefix); ok {
			switch base {
			case "pare", "install", "publish", "publishOnly", "pack", "version", "uninstall":
				return true
			}
			if n.get("scripts", base) != nil {
				return true
			}
		}
	}
	return script == "install" || script == "version"
}

func (p *project) npmTargets(s *source, members func(string, func(member, int, int))) {
	n, name := p.root, p.name
	bins := 0
	bin := func(command, file string, from, to int) {
		bins++
		p.runs(command, file, "", s, from, to)
	}
	if v := n.get("bin"); v.text() != "" {
		short := name[strings.LastIndexByte(name, '/')+1:]
		bin(short, v.text(), s.lineAt(v.from), s.lineAt(v.to-1))
	}
	members("bin", func(m member, from, to int) { bin(m.key, m.text(), from, to) })
	if private := n.get("private"); private != nil && private.value == true {
		return
	}
	if bins > 0 {
		p.installs("program", "npm install -g "+name, "Install the program with `npm install -g "+name+"`.")
	}
	if bins == 0 || n.get("main") != nil || n.get("exports") != nil || n.get("module") != nil {
		p.installs("library", "npm install "+name, "Add the package to a project with `npm install "+name+"`.")
	}
}

// exportsOf are the subpaths of the exports field that name one module each.
func exportsOf(n *node) []member {
	var out []member
	if v := n.get("exports"); v != nil {
		for _, m := range v.members {
			if strings.HasPrefix(m.key, ".") && !strings.Contains(m.key, "*") && m.key != "./package.json" && m.key != "." {
				out = append(out, m)
			}
		}
	}
	return out
}

// importLine shows how a module is used.
func importLine(spec string, n *node, whole bool) string {
	quoted, _ := json.Marshal(spec)
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return '_'
	}, spec[strings.LastIndexByte(spec, '/')+1:])
	if strings.HasSuffix(n.get("types").text()+n.get("typings").text(), ".d.ts") || n.get("type").text() == "module" || n.get("module") != nil || n.get("exports") != nil {
		if whole {
			return "import " + name + " from " + string(quoted)
		}
		return "import * as " + name + " from " + string(quoted)
	}
	return "const " + name + " = require(" + string(quoted) + ")"
}

// scriptRunner is the tool whose lock file lies nearest.
func (t *tree) scriptRunner(dir string) string {
	for _, f := range []struct{ lock, tool string }{{"pnpm-lock.yaml", "pnpm run"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun run"}, {"bun.lockb", "bun run"}} {
		for _, d := range []string{dir, "."} {
			if _, ok := t.files[strings.TrimPrefix(d+"/"+f.lock, "./")]; ok {
				return f.tool
			}
		}
	}
	return "npm run"
}
