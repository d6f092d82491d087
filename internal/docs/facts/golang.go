package facts

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// goPackage is the files of a folder that belong together.
type goPackage struct {
	dir     string
	name    string
	path    string // import path
	fset    *token.FileSet
	files   []*ast.File
	sources map[string]*source
	project *project
}

// goClaims finds packages. Those in internal folders and in no module are not public; main
// packages are programs.
func (t *tree) goClaims(projects []*project) []*claim {
	byDir := map[string][]string{}
	for _, f := range t.inv.Files {
		if f.Language == "go" && (f.Role == "source" || f.Role == "test") && !ignoredByGo(f.Path) {
			byDir[path.Dir(f.Path)] = append(byDir[path.Dir(f.Path)], f.Path)
		}
	}
	dirs := slices.Sorted(mapsKeys(byDir))
	var out []*claim
	found := each(dirs, func(dir string) goFound { return t.goPackage(dir, byDir[dir], projects) })
	commands := &goCommands{}
	var programs []string
	for _, c := range slices.Concat(collect(found)...) {
		if c != nil && c.Kind == docs.Entry {
			programs = append(programs, c.Name)
		}
	}
	for i, f := range found {
		out = append(out, f.claims...)
		if f.cli != nil {
			f.cli.programs = programs
			commands.add(dirs[i], f.cli)
		}
	}
	out = append(out, commands.claims()...)
	// A module with packages to import is added with go get.
	for _, p := range projects {
		if p.language == "go" && remote(p.name) && slices.ContainsFunc(found, func(f goFound) bool { return f.library == p }) {
			out = append(out, newClaim("go", docs.Install, p.place(), "library").called(p.name).in(p.name).
				signed("go get "+p.name).says("Add the module to a project with `go get "+p.name+"`.").at(p.manifest, p.nameFrom, p.nameTo))
		}
	}
	return out
}

// goFound is what a folder gives.
type goFound struct {
	claims  []*claim
	library *project // whose library it is a part of
	cli     *goCLI
}

func collect(found []goFound) [][]*claim {
	var out [][]*claim
	for _, f := range found {
		out = append(out, f.claims)
	}
	return out
}

// ignoredByGo says whether the go command would not look at a path.
func ignoredByGo(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == "testdata" || strings.HasPrefix(part, "_") || strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// remote says whether a module path can be fetched.
func remote(module string) bool {
	host, _, _ := strings.Cut(module, "/")
	return strings.Contains(host, ".") && !strings.HasPrefix(host, "example.")
}

func (t *tree) goPackage(dir string, paths []string, projects []*project) (found goFound) {
	p := owner(projects, "go", path.Join(dir, "x.go"))
	if p == nil || p.name == "" {
		return found
	}
	pkg := &goPackage{dir: dir, path: p.name, fset: token.NewFileSet(), sources: map[string]*source{}, project: p}
	if rel := strings.TrimPrefix(strings.TrimPrefix(dir, p.dir), "/"); dir != p.dir {
		if p.dir == "." {
			rel = dir
		}
		pkg.path = p.name + "/" + rel
	}
	var code, tests []*ast.File
	for _, name := range paths {
		s := t.read(name)
		if s == nil {
			continue
		}
		f, err := parser.ParseFile(pkg.fset, name, s.data, parser.ParseComments)
		if err != nil || ignoredFile(f) || tooDeep(f) {
			continue
		}
		pkg.sources[name] = s
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	if len(code) == 0 {
		return found
	}
	pkg.name = commonName(code)
	for _, f := range slices.Concat(code, tests) {
		if base := strings.TrimSuffix(f.Name.Name, "_test"); base == pkg.name || f.Name.Name == pkg.name {
			pkg.files = append(pkg.files, f)
		}
	}
	if inExamples(dir + "/x.go") {
		return found
	}
	found.cli = scanGoCLI(pkg)
	switch {
	case pkg.name == "main":
		found.claims = pkg.program()
	case inDir(dir+"/", []string{"internal"}):
	default:
		found.claims = pkg.library()
		if len(found.claims) > 0 {
			found.library = p
		}
	}
	return found
}

// tooDeep says whether a tree is nested as nobody writes: printing it takes quadratic time.
func tooDeep(f *ast.File) bool {
	depth, most := 0, 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		most = max(most, depth)
		return true
	})
	return most > 500
}

// unbuilt are tags that nobody sets to use a package.
var unbuilt = []string{"ignore", "tools", "never", "gofuzz"}

// ignoredFile says whether a file is excluded from every build.
func ignoredFile(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				if x, err := constraint.Parse(c.Text); err == nil {
					// With these tags unset the file must be out, whatever the others are.
					asked := false
					never := func(others bool) bool {
						return !x.Eval(func(tag string) bool {
							if slices.Contains(unbuilt, tag) {
								asked = true
								return false
							}
							return others
						})
					}
					return never(true) && never(false) && asked
				}
			}
		}
	}
	return false
}

// commonName is the package that most files belong to, a library before a program.
func commonName(files []*ast.File) string {
	count := map[string]int{}
	for _, f := range files {
		count[f.Name.Name]++
	}
	names := slices.SortedFunc(mapsKeys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	if len(names) > 1 && names[0] == "main" {
		return names[1]
	}
	return names[0]
}

func (pkg *goPackage) place() string {
	if pkg.dir == "." {
		return "./" + pkg.name
	}
	return pkg.dir
}

// lines of a piece of the tree.
func (pkg *goPackage) at(c *claim, from, to token.Pos) *claim {
	if !from.IsValid() || !to.IsValid() {
		return c
	}
	a, b := pkg.fset.PositionFor(from, false), pkg.fset.PositionFor(to-1, false)
	if s := pkg.sources[a.Filename]; s != nil && b.Filename == a.Filename {
		c.at(s, a.Line, b.Line)
	}
	return c
}

// packageDoc is the comment of the package and the file it stands in.
func (pkg *goPackage) packageDoc() (*ast.File, string) {
	var best *ast.File
	for _, f := range pkg.files {
		if f.Name.Name != pkg.name || strings.HasSuffix(pkg.fset.File(f.Pos()).Name(), "_test.go") {
			continue
		}
		if best == nil || best.Doc == nil && f.Doc != nil {
			best = f
		}
	}
	if best == nil || best.Doc == nil {
		return best, ""
	}
	return best, best.Doc.Text()
}

func (pkg *goPackage) program() []*claim {
	f, text := pkg.packageDoc()
	if f == nil || !pkg.hasMain() {
		return nil
	}
	name := lastPart(pkg.path)
	from := f.Package
	if f.Doc != nil {
		from = f.Doc.Pos()
	}
	entry := pkg.at(newClaim("go", docs.Entry, pkg.dir, name).in(pkg.path).says(goText(nil, text)), from, f.Name.End())
	p := pkg.project
	command, sentence := "go install "+pkg.path+"@latest", "Install the program `"+name+"` with `go install "+pkg.path+"@latest`."
	if !remote(p.name) || p.replaced {
		place := "./" + strings.TrimPrefix(strings.TrimPrefix(pkg.dir, p.dir), "/")
		if pkg.dir == p.dir {
			place = "."
		}
		command, sentence = "go install "+place, "Install the program `"+name+"` from a clone with `go install "+place+"`."
		if p.dir != "." {
			sentence = strings.TrimSuffix(sentence, ".") + " in `" + p.dir + "`."
		}
	}
	install := newClaim("go", docs.Install, pkg.dir, name).in(pkg.path).signed(command).says(sentence).at(p.manifest, p.nameFrom, p.nameTo)
	pkg.at(install, f.Package, f.Name.End())
	return []*claim{entry, install}
}

func (pkg *goPackage) hasMain() bool {
	for _, f := range pkg.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" {
				return true
			}
		}
	}
	return false
}

// library claims what go doc would show.
func (pkg *goPackage) library() (out []*claim) {
	// go/doc is written for code that compiles; what it cannot bear gives no claims.
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	f, text := pkg.packageDoc()
	if f == nil {
		return nil
	}
	from := f.Package
	if f.Doc != nil {
		from = f.Doc.Pos()
	}
	heads, places := pkg.heads(), pkg.places() // before go/doc edits the tree
	twins := pkg.dedupe(heads)
	d, err := doc.NewFromFiles(pkg.fset, pkg.files, pkg.path)
	if err != nil {
		return nil
	}
	out = append(out, pkg.at(newClaim("go", docs.Module, pkg.place(), "").called(pkg.name).in(pkg.path).
		signed("import \""+pkg.path+"\"").says(goText(d, text)), from, f.Name.End()))
	value := func(v *doc.Value) {
		if len(v.Names) == 0 {
			return
		}
		name := v.Names[0]
		for _, n := range v.Names {
			if ast.IsExported(n) {
				name = n
				break
			}
		}
		c := newClaim("go", docs.Value, pkg.place(), name).in(pkg.path).signed(pkg.spell(v.Decl)).says(goText(d, v.Doc))
		r := places.decls[v.Decl]
		out = append(out, pkg.at(c, r.from, r.to))
	}
	function := func(kind docs.Kind, name string, fn *doc.Func) {
		if kind == docs.Method && fn.Level > 0 {
			return // promoted from a field
		}
		h := heads[fn.Decl]
		c := pkg.at(newClaim("go", kind, pkg.place(), name).in(pkg.path).signed(h.signature).says(goText(d, fn.Doc)), h.from, h.to)
		for _, twin := range twins[fn.Decl] {
			if len(c.Evidence) < 8 {
				pkg.at(c, twin.from, twin.to)
			}
		}
		out = append(out, c)
	}
	all := func(consts, vars []*doc.Value, funcs []*doc.Func) {
		for _, v := range slices.Concat(consts, vars) {
			value(v)
		}
		for _, fn := range funcs {
			function(docs.Function, fn.Name, fn)
		}
	}
	all(d.Consts, d.Vars, d.Funcs)
	for _, typ := range d.Types {
		c := newClaim("go", docs.Type, pkg.place(), typ.Name).in(pkg.path).signed(pkg.spell(typ.Decl)).says(goText(d, typ.Doc))
		r := places.types[typ.Name]
		out = append(out, pkg.at(c, r.from, r.to))
		all(typ.Consts, typ.Vars, typ.Funcs)
		for _, m := range typ.Methods {
			function(docs.Method, typ.Name+"."+m.Name, m)
		}
	}
	if len(out) == 1 && text == "" {
		return nil // nothing that a user could use
	}
	for _, ex := range goExamples(d) {
		out = append(out, pkg.example(d, ex))
	}
	return out
}

// head is a function without its body.
type head struct {
	signature string
	from, to  token.Pos
}

// goPlaces are where declarations stand with their comments, which go/doc takes away.
type goPlaces struct {
	decls map[*ast.GenDecl]head
	types map[string]head
}

func (pkg *goPackage) places() goPlaces {
	p := goPlaces{map[*ast.GenDecl]head{}, map[string]head{}}
	for _, f := range pkg.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			p.decls[g] = head{from: start(g, g.Doc), to: g.End()}
			for _, spec := range g.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if _, known := p.types[t.Name.Name]; known {
					continue
				}
				p.types[t.Name.Name] = head{from: start(t, t.Doc), to: t.End()}
				if !g.Lparen.IsValid() {
					p.types[t.Name.Name] = p.decls[g]
				}
			}
		}
	}
	return p
}

func (pkg *goPackage) heads() map[*ast.FuncDecl]head {
	out := map[*ast.FuncDecl]head{}
	for _, f := range pkg.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				bare := *fn
				bare.Doc, bare.Body = nil, nil
				out[fn] = head{pkg.spell(&bare), start(fn, fn.Doc), fn.Type.End()}
			}
		}
	}
	return out
}

// dedupe leaves one of the functions that are declared for several platforms, a documented
// one if there is any; go/doc would take whichever comes. It returns those with the same head.
func (pkg *goPackage) dedupe(heads map[*ast.FuncDecl]head) map[*ast.FuncDecl][]head {
	byName := map[string][]*ast.FuncDecl{}
	for _, f := range pkg.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				name := receiver(fn) + "." + fn.Name.Name + " " + f.Name.Name
				byName[name] = append(byName[name], fn)
			}
		}
	}
	twins := map[*ast.FuncDecl][]head{}
	drop := map[ast.Decl]bool{}
	for _, same := range byName {
		keep := max(0, slices.IndexFunc(same, func(fn *ast.FuncDecl) bool { return fn.Doc != nil }))
		for i, fn := range same {
			if i == keep {
				continue
			}
			drop[fn] = true
			if kept := same[keep]; heads[fn].signature == heads[kept].signature {
				twins[kept] = append(twins[kept], heads[fn])
			}
		}
	}
	for _, f := range pkg.files {
		f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool { return drop[d] })
	}
	return twins
}

// receiver is the name of the type of a method.
func receiver(fn *ast.FuncDecl) string {
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
			return x.Name
		default:
			return "?"
		}
	}
}

func start(n ast.Node, comment *ast.CommentGroup) token.Pos {
	if comment != nil && comment.Pos() < n.Pos() {
		return comment.Pos()
	}
	return n.Pos()
}

// spell prints a declaration with its comments, or without where that is too long. The
// comment above it is the text of the claim and left out.
func (pkg *goPackage) spell(n ast.Node) string {
	if g, ok := n.(*ast.GenDecl); ok {
		bare := *g
		bare.Doc = nil
		if len(g.Specs) == 1 && !g.Lparen.IsValid() {
			switch spec := g.Specs[0].(type) {
			case *ast.TypeSpec:
				one := *spec
				one.Doc = nil
				bare.Specs = []ast.Spec{&one}
			case *ast.ValueSpec:
				one := *spec
				one.Doc = nil
				bare.Specs = []ast.Spec{&one}
			}
		}
		n = &bare
	}
	var b bytes.Buffer
	if format.Node(&b, pkg.fset, n) != nil {
		return ""
	}
	if b.Len() <= signatureLimit {
		return b.String()
	}
	b.Reset()
	strip(n)
	if (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}).Fprint(&b, pkg.fset, n) != nil {
		return ""
	}
	return strings.ReplaceAll(b.String(), "\n\n", "\n")
}

// strip takes the comments of fields and values away. The tree is ours alone.
func strip(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}

// goText renders a comment as plain paragraphs; code is indented by a tab.
func goText(d *doc.Package, text string) string {
	if text == "" {
		return ""
	}
	if d == nil {
		d = &doc.Package{}
	}
	pr := d.Printer()
	pr.TextWidth = -1
	return string(pr.Text(d.Parser().Parse(text)))
}

func goExamples(d *doc.Package) []*doc.Example {
	out := slices.Clone(d.Examples)
	for _, fn := range d.Funcs {
		out = append(out, fn.Examples...)
	}
	for _, typ := range d.Types {
		out = append(out, typ.Examples...)
		for _, fn := range slices.Concat(typ.Funcs, typ.Methods) {
			out = append(out, fn.Examples...)
		}
	}
	return out
}

func (pkg *goPackage) example(d *doc.Package, ex *doc.Example) *claim {
	var b bytes.Buffer
	var n any = &printer.CommentedNode{Node: ex.Code, Comments: ex.Comments}
	if ex.Play != nil {
		n = ex.Play
	}
	if format.Node(&b, pkg.fset, n) != nil {
		return nil
	}
	code := strings.TrimSpace(b.String())
	if ex.Play == nil && strings.HasPrefix(code, "{") {
		code = unindent(strings.Trim(strings.TrimSuffix(code[1:], "}"), "\n "))
	}
	if len(code) > signatureLimit || code == "" {
		return nil
	}
	name := cmp.Or(strings.ReplaceAll(strings.Trim(ex.Name, "_"), "_", "."), pkg.name)
	c := newClaim("go", docs.Example, pkg.place(), cmp.Or(ex.Name, "package")).called(name).in(pkg.path).signed(code).says(goText(d, ex.Doc))
	return pkg.at(c, ex.Code.Pos(), ex.Code.End())
}
