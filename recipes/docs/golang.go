package docs

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// GoReference finds the packages that others can import.
func GoReference(r *Repository) []ReferencePage {
	modules, dirs := map[string]string{}, map[string][]string{}
	for _, f := range r.Files {
		if path.Base(f) == "go.mod" {
			if m := goModule().FindStringSubmatch(r.Text(f)); m != nil {
				modules[path.Dir(f)] = m[1]
			}
		}
		if strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go") && isPublicPath(path.Dir(f)) {
			dirs[path.Dir(f)] = append(dirs[path.Dir(f)], f)
		}
	}
	var out []ReferencePage
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		at, ok := importPath(modules, dir)
		if !ok {
			continue
		}
		if p, ok := goPage(r, at, dirs[dir]); ok {
			p.Short = cmp.Or(strings.ReplaceAll(strings.TrimPrefix(dir, "."), "/", "-"), path.Base(p.Name))
			out = append(out, p)
		}
	}
	return out
}

// isPublicPath reports whether others can import what lies in a folder.
func isPublicPath(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part == "internal" || part == "testdata" || part == "examples" || part == "example" || part != "." && (part[0] == '_' || part[0] == '.') {
			return false
		}
	}
	return true
}

func importPath(modules map[string]string, dir string) (string, bool) {
	for at := dir; ; at = path.Dir(at) {
		if name, ok := modules[at]; ok {
			return path.Join(name, strings.TrimPrefix(strings.TrimPrefix(dir, strings.TrimPrefix(at, ".")), "/")), true
		}
		if at == "." {
			return "", false
		}
	}
}

// goPackage is one package being read.
type goPackage struct {
	repo *Repository
	fset *token.FileSet
	doc  *doc.Package
	at   map[any]Cite // declarations and type names, with their comments
	line map[any]Cite // of their names
	code map[*ast.FuncDecl]string
}

func goPage(r *Repository, name string, files []string) (page ReferencePage, ok bool) {
	// go/doc is written for code that compiles; what it cannot bear gives no page.
	defer func() {
		if recover() != nil {
			page, ok = ReferencePage{}, false
		}
	}()
	p := &goPackage{repo: r, fset: token.NewFileSet(), at: map[any]Cite{}, line: map[any]Cite{}, code: map[*ast.FuncDecl]string{}}
	var parsed []*ast.File
	var about []Cite // go/doc takes the comments away
	for _, f := range files {
		file, err := parser.ParseFile(p.fset, f, r.Text(f), parser.ParseComments)
		if err != nil || file.Name.Name == "main" || isIgnored(file) || len(parsed) > 0 && parsed[0].Name.Name != file.Name.Name {
			continue
		}
		parsed = append(parsed, file)
		if file.Doc != nil && about == nil {
			about = p.cite(file.Doc.Pos(), file.Doc.End())
		}
	}
	if len(parsed) == 0 {
		return page, false
	}
	parsed = p.remember(parsed)
	var err error
	if p.doc, err = doc.NewFromFiles(p.fset, parsed, name); err != nil {
		return page, false
	}
	var b strings.Builder
	if about != nil {
		entry{at: about, doc: p.blocks(p.doc.Doc)}.write(&b, r)
	}
	page = ReferencePage{Name: name, Names: p.declarations(&b)}
	page.Draft = b.String()
	return page, page.Names > 0
}

// isIgnored reports whether a build tag keeps a file out of every build.
func isIgnored(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && (c.Text == "//go:build ignore" || c.Text == "// +build ignore") {
				return true
			}
		}
	}
	return false
}

// remember keeps the places of declarations and the text of functions, before go/doc edits
// the tree. Of a function that several platforms have, the first one with a comment stays.
func (p *goPackage) remember(files []*ast.File) []*ast.File {
	kept := map[string]*ast.FuncDecl{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if old := kept[receiverName(d)+d.Name.Name]; old == nil || old.Doc == nil && d.Doc != nil {
					kept[receiverName(d)+d.Name.Name] = d
				}
				bare := *d
				bare.Doc, bare.Body = nil, nil
				p.at[d], p.code[d] = p.place(startPos(d, d.Doc), d.Type.End()), p.spell(&bare)
				p.line[d] = p.place(d.Name.Pos(), d.Name.End())
			case *ast.GenDecl:
				p.at[d] = p.place(startPos(d, d.Doc), d.End())
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && p.line[d].From == 0 {
						if i := slices.IndexFunc(v.Names, (*ast.Ident).IsExported); i >= 0 {
							p.line[d] = p.place(v.Names[i].Pos(), v.Names[i].End())
						}
					}
					if t, ok := s.(*ast.TypeSpec); ok {
						p.at[t.Name.Name] = p.place(startPos(t, t.Doc), t.End())
						p.line[t.Name.Name] = p.place(t.Name.Pos(), t.Name.End())
						if !d.Lparen.IsValid() {
							p.at[t.Name.Name] = p.at[d]
						}
					}
				}
			}
		}
	}
	for _, f := range files {
		f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && kept[receiverName(fn)+fn.Name.Name] != fn
		})
	}
	return files
}

func startPos(n ast.Node, c *ast.CommentGroup) token.Pos {
	if c != nil && c.Pos() < n.Pos() {
		return c.Pos()
	}
	return n.Pos()
}

// receiverName returns the type of a method and a dot; "" for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return "?."
		}
	}
}

func (p *goPackage) place(from, to token.Pos) Cite {
	a, b := p.fset.PositionFor(from, false), p.fset.PositionFor(to-1, false)
	return Cite{File: a.Filename, From: a.Line, To: min(b.Line, a.Line+maxLines-1)}
}

func (p *goPackage) cite(from, to token.Pos) []Cite {
	return []Cite{p.place(from, to)}
}

// declarations writes all exported declarations, and counts them.
func (p *goPackage) declarations(b *strings.Builder) (n int) {
	add := func(level int, heading, code, text string, what any) {
		e := entry{heading: heading, level: level, code: code, lang: "go", at: []Cite{p.at[what]}, line: p.line[what], doc: p.blocks(text)}
		if e.write(b, p.repo) {
			n++
		}
	}
	values := func(level int, list []*doc.Value) {
		for _, v := range list {
			if i := slices.IndexFunc(v.Names, ast.IsExported); i >= 0 {
				add(level, v.Names[i], p.spell(v.Decl), v.Doc, v.Decl)
			}
		}
	}
	funcs := func(level int, of string, list []*doc.Func) {
		for _, f := range list {
			if f.Level == 0 { // not promoted from a field
				add(level, of+f.Name, p.code[f.Decl], f.Doc, f.Decl)
			}
		}
	}
	values(2, p.doc.Consts)
	values(2, p.doc.Vars)
	funcs(2, "", p.doc.Funcs)
	for _, t := range p.doc.Types {
		add(2, t.Name, p.spell(t.Decl), t.Doc, t.Name)
		values(3, t.Consts)
		values(3, t.Vars)
		funcs(3, "", t.Funcs)
		funcs(3, "", t.Methods)
	}
	return n
}

// spell prints a declaration without the comment above it.
func (p *goPackage) spell(n ast.Node) string {
	if g, ok := n.(*ast.GenDecl); ok {
		bare := *g
		bare.Doc = nil
		n = &bare
	}
	var b bytes.Buffer
	if format.Node(&b, p.fset, n) != nil {
		return ""
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, "\n"); !strings.Contains(line, "// contains filtered or unexported") && !strings.Contains(line, "// Has unexported") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// blocks makes Markdown of a comment.
func (p *goPackage) blocks(text string) []string {
	var out []string
	for _, b := range p.doc.Parser().Parse(text).Content {
		switch b := b.(type) {
		case *comment.Paragraph:
			out = append(out, inlineText(b.Text))
		case *comment.Heading:
			out = append(out, "**"+inlineText(b.Text)+"**")
		case *comment.Code:
			out = append(out, "```\n"+strings.TrimRight(b.Text, "\n")+"\n```")
		case *comment.List:
			for _, item := range b.Items {
				for _, inner := range item.Content {
					if para, ok := inner.(*comment.Paragraph); ok {
						out = append(out, "- "+inlineText(para.Text))
					}
				}
			}
		}
	}
	return out
}

// inlineText returns the text of a paragraph. Of links to other names, only their words are in it.
func inlineText(list []comment.Text) string {
	var b strings.Builder
	for _, t := range list {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		case *comment.Link:
			if t.Auto {
				b.WriteString(t.URL)
			} else {
				b.WriteString(plainText(t.Text))
			}
		case *comment.DocLink:
			b.WriteString(plainText(t.Text))
		}
	}
	return escapeMarkdown(b.String())
}

func plainText(list []comment.Text) string {
	var b strings.Builder
	for _, t := range list {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		}
	}
	return b.String()
}
