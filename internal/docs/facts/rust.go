package facts

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// rsFile is a file that was read.
type rsFile struct {
	s     *source
	items []*rsItem
	inner []string
}

// rsModule is a module of a crate.
type rsModule struct {
	path    string // crate::a::b with the crate's name
	public  bool
	items   []*rsItem
	mods    map[string]*rsModule
	parent  *rsModule
	item    *rsItem // the declaration
	s       *source
	inner   []string
	visited bool
}

// rustClaims finds what crates give to others: public items in public modules, and what is
// taken up with pub use.
func (t *tree) rustClaims(projects []*project) []*claim {
	paths := t.pathsWith("source", "rust")
	read := each(paths, func(name string) rsFile {
		s := t.read(name)
		if s == nil || s.text() == "" {
			return rsFile{}
		}
		items, inner := scanRust(s.text())
		return rsFile{s, items, inner}
	})
	files := map[string]rsFile{}
	for i, name := range paths {
		if read[i].s != nil {
			files[name] = read[i]
		}
	}
	var out []*claim
	for _, p := range projects {
		if p.language != "rust" || p.crate == nil || p.name == "" {
			continue
		}
		root := path.Join(p.dir, cmp.Or(p.crate.text("lib", "path"), "src/lib.rs"))
		if f, ok := files[root]; ok {
			c := &rsCrate{files: files, homes: map[*rsItem]string{}, names: map[*rsItem]string{}, opened: map[string]bool{}}
			name := strings.ReplaceAll(cmp.Or(p.crate.text("lib", "name"), p.name), "-", "_")
			c.root = c.module(f, nil, name, root, true, 0)
			out = append(out, c.claims(p)...)
		}
		out = append(out, t.rustPrograms(p, files)...)
	}
	return out
}

type rsCrate struct {
	files  map[string]rsFile
	root   *rsModule
	all    []*rsModule
	homes  map[*rsItem]string // where users find an item
	names  map[*rsItem]string // under which other name
	order  []*rsItem
	opened map[string]bool
}

// module takes a file and those it names in.
func (c *rsCrate) module(f rsFile, item *rsItem, name, file string, public bool, depth int) *rsModule {
	m := &rsModule{path: name, public: public, s: f.s, item: item, inner: f.inner}
	c.fill(m, f.items, f.s, file, path.Base(file) == "mod.rs" || depth == 0, depth)
	return m
}

func (c *rsCrate) fill(m *rsModule, items []*rsItem, s *source, file string, owns bool, depth int) {
	m.items, m.mods = items, map[string]*rsModule{}
	c.all = append(c.all, m)
	for _, it := range items {
		it.s = s
		for _, sub := range it.items {
			sub.s = s
		}
		if it.word != "mod" || depth > 16 {
			continue
		}
		if it.inline {
			child := &rsModule{path: m.path + "::" + it.name, public: it.public, s: s, item: it, inner: it.inner, parent: m}
			c.fill(child, it.items, s, file, owns, depth+1)
			m.mods[it.name] = child
			continue
		}
		dir := path.Dir(file)
		if !owns {
			dir = strings.TrimSuffix(file, ".rs")
		}
		for _, name := range []string{path.Join(dir, it.name+".rs"), path.Join(dir, it.name, "mod.rs")} {
			if f, ok := c.files[name]; ok && !c.opened[name] {
				c.opened[name] = true
				child := c.module(f, it, m.path+"::"+it.name, name, it.public, depth+1)
				child.parent = m
				m.mods[it.name] = child
				break
			}
		}
	}
}

// reach gives homes to all that can be named from outside, shallow modules first.
func (c *rsCrate) reach() {
	queue := []*rsModule{c.root}
	for n := 0; n < len(queue) && n < 10_000; n++ {
		m := queue[n]
		if m.visited {
			continue
		}
		m.visited = true
		for _, it := range m.items {
			if it.public && it.word != "mod" && it.word != "use" {
				c.home(it, m.path)
			}
		}
		c.taken(m, m.path, 0, map[*rsModule]bool{})
		for _, it := range m.items {
			if it.word == "mod" && it.public && m.mods[it.name] != nil {
				queue = append(queue, m.mods[it.name])
			}
		}
	}
}

func (c *rsCrate) home(it *rsItem, at string) {
	if _, ok := c.homes[it]; !ok && it.kind != "" {
		c.homes[it] = at
		c.order = append(c.order, it)
	}
}

// taken follows pub use of a module.
func (c *rsCrate) taken(m *rsModule, at string, depth int, seen map[*rsModule]bool) {
	if depth > 8 || seen[m] {
		return
	}
	seen[m] = true
	for _, it := range m.items {
		if it.word != "use" || !it.public {
			continue
		}
		for _, u := range it.use {
			target := c.find(m, u.path[:max(0, len(u.path)-b01(u.as != "*"))])
			if target == nil {
				continue
			}
			if u.as == "*" {
				for _, x := range target.items {
					if x.public && x.word != "mod" && x.word != "use" {
						c.home(x, at)
					}
				}
				c.taken(target, at, depth+1, seen)
				continue
			}
			name := u.path[len(u.path)-1]
			found := false
			for _, x := range target.items {
				if x.name == name && x.public && x.word != "mod" && u.as != "_" {
					if _, known := c.homes[x]; !known && u.as != name {
						c.names[x] = u.as
					}
					c.home(x, at)
					found = true
				}
			}
			if mod := target.mods[name]; mod != nil && !mod.visited && !mod.public {
				mod.path, mod.public = at+"::"+u.as, true
				for _, x := range mod.items {
					if x.public && x.word != "mod" && x.word != "use" {
						c.home(x, mod.path)
					}
				}
			}
			if !found && target != m {
				c.taken(target, at, depth+1, seen)
			}
		}
	}
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// find resolves a path of modules from where it is used.
func (c *rsCrate) find(m *rsModule, parts []string) *rsModule {
	for i, p := range parts {
		switch {
		case m == nil:
			return nil
		case p == "crate" || i == 0 && p == c.root.path:
			m = c.root
		case p == "self":
		case p == "super":
			m = m.parent
		default:
			m = m.mods[p]
		}
	}
	return m
}

func (c *rsCrate) claims(p *project) []*claim {
	c.reach()
	var out []*claim
	for _, m := range c.all {
		if !m.visited {
			continue
		}
		docLines := m.inner
		cl := newClaim("rust", docs.Module, m.path, "").called(m.path).in(m.path).signed("use " + m.path + ";")
		if m == c.root {
			cl.signed("use " + m.path + ";")
		}
		if m.item != nil && len(m.item.doc) > 0 {
			docLines = m.item.doc
			cl.at(m.item.s, m.item.s.lineAt(m.item.from), m.item.s.lineAt(m.item.to-1))
		} else if m.item != nil && m.item.inline {
			cl.at(m.s, m.s.lineAt(m.item.from), m.s.lineAt(m.item.to-1))
		} else {
			cl.at(m.s, 1, max(1, rsInnerLines(m.s)))
		}
		out = append(out, cl.says(rsDocText(docLines)))
	}
	types := map[string]*rsItem{}
	for _, it := range c.order {
		home := c.homes[it]
		kind, name := it.kind, cmp.Or(c.names[it], it.name)
		if it.word == "macro_rules" {
			continue
		}
		if kind == docs.Type && types[it.name] == nil {
			types[it.name] = it
		}
		out = append(out, rsClaim(kind, home, name, it))
		if it.word == "trait" {
			for _, m := range it.items {
				if m.word == "fn" {
					out = append(out, rsClaim(docs.Method, home, name+"::"+m.name, m))
				}
			}
		}
	}
	for _, m := range c.all {
		for _, it := range m.items {
			switch {
			case it.word == "macro_rules" && slices.ContainsFunc(it.attrs, func(a string) bool { return strings.HasPrefix(a, "macro_export") }):
				out = append(out, rsClaim(docs.Function, c.root.path, it.name+"!", it))
			case it.word == "impl" && !it.trait && types[it.target] != nil:
				home := c.homes[types[it.target]]
				for _, fn := range it.items {
					if fn.word == "fn" && fn.public {
						name := cmp.Or(c.names[types[it.target]], it.target)
						out = append(out, rsClaim(docs.Method, home, name+"::"+fn.name, fn))
					}
				}
			}
		}
	}
	return out
}

// rsInnerLines is the last line of the comment at the top of a file.
func rsInnerLines(s *source) int {
	last := 0
	for l := 1; l <= s.count(); l++ {
		line := strings.TrimSpace(string(s.lines(l, l)))
		if strings.HasPrefix(line, "//!") {
			last = l
		} else if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#!") {
			break
		}
	}
	return last
}

func rsClaim(kind docs.Kind, home, name string, it *rsItem) *claim {
	return newClaim("rust", kind, home, name).in(home).signed(it.signature).says(rsDocText(it.doc)).
		at(it.s, it.s.lineAt(it.from), it.s.lineAt(max(it.from, it.to-1)))
}
