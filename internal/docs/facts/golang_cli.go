package facts

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// goCmd is a command of cobra, or a flag set of the standard library.
type goCmd struct {
	key                    string
	use, short, long, name string
	hidden                 bool
	s                      *source
	from, to               int // offsets
	flags                  []*cliItem
	flagSources            []*source
}

// goCLI is what the files of one package say about command lines. Values are found by
// following names only: variables, functions that return a command, AddCommand.
type goCLI struct {
	pkg      *goPackage
	main     bool
	cobra    map[*ast.File]string // local name of the import
	pflag    map[*ast.File]string
	std      map[*ast.File]string
	imports  map[*ast.File]map[string]string // name: path
	consts   map[string]string
	cmds     map[string]*goCmd
	order    []string
	alias    map[string]string // function or variable: command
	edges    [][2]string       // parent, child
	programs []string          // names of the main packages of the module
	program  *goCmd            // holder of the global flags
	params   map[string]*goCmd // flags that a function sets on what it is given
	given    [][2]string       // command, function it is given to
}

func scanGoCLI(pkg *goPackage) *goCLI {
	c := &goCLI{pkg: pkg, main: pkg.name == "main", cobra: map[*ast.File]string{}, pflag: map[*ast.File]string{}, std: map[*ast.File]string{},
		imports: map[*ast.File]map[string]string{}, consts: map[string]string{}, cmds: map[string]*goCmd{}, alias: map[string]string{}, params: map[string]*goCmd{}}
	used := false
	for _, f := range pkg.files {
		c.imports[f] = map[string]string{}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			local := lastPart(p)
			if imp.Name != nil {
				local = imp.Name.Name
			}
			c.imports[f][local] = p
			switch {
			case p == "github.com/spf13/cobra":
				c.cobra[f], used = local, true
			case p == "github.com/spf13/pflag":
				c.pflag[f], used = local, true
			case p == "flag":
				c.std[f], used = local, true
			}
		}
	}
	if !used {
		return nil
	}
	for _, f := range pkg.files {
		c.constants(f)
	}
	for _, f := range pkg.files {
		if strings.HasSuffix(pkg.fset.File(f.Pos()).Name(), "_test.go") {
			continue
		}
		w := &goWalk{goCLI: c, file: f, fn: "", local: map[string]string{}, sets: map[string]string{}}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				w.function(fn)
				continue
			}
			w.fn, w.local, w.sets = "", map[string]string{}, map[string]string{}
			w.statements(d)
		}
	}
	return c
}

// constants keeps strings that have a name.
func (c *goCLI) constants(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST && g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for i, n := range v.Names {
					if i < len(v.Values) {
						if s, ok := c.text(v.Values[i], 0); ok {
							c.consts[n.Name] = s
						}
					}
				}
			}
		}
	}
}

// text is the string of an expression that is written out: literals, sums, names of such,
// and calls that only dress one (heredoc.Doc, i18n.T).
func (c *goCLI) text(e ast.Expr, depth int) (string, bool) {
	if depth > 20 {
		return "", false
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
	case *ast.ParenExpr:
		return c.text(e.X, depth+1)
	case *ast.Ident:
		s, ok := c.consts[e.Name]
		return s, ok
	case *ast.BinaryExpr:
		a, ok1 := c.text(e.X, depth+1)
		b, ok2 := c.text(e.Y, depth+1)
		return a + b, ok1 && ok2 && e.Op == token.ADD
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			s, ok := c.text(e.Args[0], depth+1)
			return unindent(strings.TrimSpace(s)), ok
		}
	}
	return "", false
}

// goWalk goes through one function.
type goWalk struct {
	*goCLI
	file  *ast.File
	fn    string
	local map[string]string // variable: command
	sets  map[string]string // variable of a flag set: command
	adder map[string]string // closure that adds commands: to which
	inner int               // function literals around
}

func (w *goWalk) function(fn *ast.FuncDecl) {
	w.fn, w.local, w.sets, w.adder = fn.Name.Name, map[string]string{}, map[string]string{}, map[string]string{}
	for _, p := range fn.Type.Params.List {
		key := "given to " + w.pkg.path + "." + w.fn
		for _, name := range p.Names {
			switch typ := spelled(p.Type); {
			case typ == w.cobra[w.file]+".Command" && w.cobra[w.file] != "":
				w.local[name.Name] = key
			case strings.HasSuffix(typ, ".FlagSet"):
				w.sets[name.Name] = key
			}
		}
	}
	if fn.Body != nil {
		w.statements(fn.Body)
	}
}

func (w *goWalk) statements(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if i < len(n.Rhs) && len(n.Lhs) == len(n.Rhs) {
					w.assign(l, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					w.assign(name, n.Values[i])
				}
			}
		case *ast.FuncLit:
			w.inner++
			w.statements(n.Body)
			w.inner--
			return false
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if w.inner > 0 {
					break
				}
				if key := w.returned(r); key != "" && w.fn != "" && w.alias[w.pkg.path+"."+w.fn] == "" {
					w.alias[w.pkg.path+"."+w.fn] = key
				}
			}
		case *ast.CallExpr:
			w.call(n)
		}
		return true
	})
}

// returned is the command that a function gives back, as it is or in a field.
func (w *goWalk) returned(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok && w.local[id.Name] == "" {
		for _, name := range slices.Sorted(mapsKeys(w.local)) {
			if strings.HasPrefix(name, id.Name+".") {
				return w.local[name]
			}
		}
		return ""
	}
	return w.command(e)
}

// adds says to which command a closure adds what it is given.
func (w *goWalk) adds(f *ast.FuncLit) string {
	parent := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "AddCommand" && parent == "" {
				parent = w.command(sel.X)
			}
		}
		return true
	})
	return parent
}

// assign binds a variable to a command or a flag set, or sets a field of a command.
func (w *goWalk) assign(l, r ast.Expr) {
	name := spelled(l)
	if name == "" {
		return
	}
	if key := w.literal(r, name); key != "" {
		w.bind(name, key)
		return
	}
	if f, ok := r.(*ast.FuncLit); ok && w.adder != nil {
		if parent := w.adds(f); parent != "" {
			w.adder[name] = parent
		}
		return
	}
	if call, ok := r.(*ast.CallExpr); ok {
		if set := w.flagSet(call); set != "" {
			w.sets[name] = set
			return
		}
	}
	if key := w.command(r); key != "" {
		w.bind(name, key)
		return
	}
	if owner, field, ok := cutLast(name, "."); ok {
		if cmd := w.cmds[w.resolve(w.local[owner])]; cmd != nil {
			w.setField(cmd, field, r)
		}
	}
}

func (w *goWalk) bind(name, key string) {
	if w.fn == "" {
		w.alias[w.pkg.path+"."+name] = key
	} else {
		w.local[name] = key
	}
}

// spelled is a name or a chain of selectors.
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := spelled(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	case *ast.StarExpr:
		return spelled(e.X)
	}
	return ""
}

// literal takes a cobra.Command that is written out and gives its key.
func (w *goWalk) literal(e ast.Expr, name string) string {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = u.X
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok || w.cobra[w.file] == "" || spelled(lit.Type) != w.cobra[w.file]+".Command" {
		return ""
	}
	a, b := w.pkg.fset.Position(lit.Pos()), w.pkg.fset.Position(lit.End())
	key := w.pkg.path + "." + w.fn + "." + name + "@" + a.Filename + ":" + strconv.Itoa(a.Offset)
	if w.cmds[key] != nil {
		return key
	}
	cmd := &goCmd{key: key, s: w.pkg.sources[a.Filename], from: a.Offset, to: b.Offset}
	last := a.Offset
	for _, el := range lit.Elts {
		kv, ok := el.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if w.setField(cmd, spelled(kv.Key), kv.Value) {
			last = w.pkg.fset.Position(kv.End()).Offset
		}
	}
	cmd.to = max(last, cmd.from+1) // up to the last field that says something, not the code in it
	w.cmds[key] = cmd
	w.order = append(w.order, key)
	return key
}

func (w *goWalk) setField(cmd *goCmd, field string, v ast.Expr) bool {
	s, ok := w.text(v, 0)
	if !ok && field != "Hidden" {
		return false
	}
	switch field {
	case "Use":
		cmd.use = s
	case "Short":
		cmd.short = s
	case "Long":
		cmd.long = s
	case "Hidden":
		cmd.hidden = spelled(v) == "true"
		return true
	default:
		return false
	}
	return ok
}

// command resolves an expression to a command: a variable, a literal, a call of a function
// that returns one.
func (w *goWalk) command(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CallExpr:
		name := spelled(e.Fun)
		first, rest, dotted := strings.Cut(name, ".")
		switch {
		case name == "":
			return ""
		case !dotted:
			return w.pkg.path + "." + name
		case w.imports[w.file][first] != "" && !strings.Contains(rest, "."):
			return w.imports[w.file][first] + "." + rest
		}
		_, method, _ := cutLast(name, ".")
		if method == "Flags" || method == "PersistentFlags" || method == "Root" || method == "Context" {
			return ""
		}
		return w.pkg.path + "." + method
	case *ast.UnaryExpr, *ast.CompositeLit:
		return w.literal(e, "")
	case *ast.SelectorExpr: // newCommand().cmd
		if call, ok := e.X.(*ast.CallExpr); ok {
			return w.command(call)
		}
	}
	name := spelled(e)
	if name == "" {
		return ""
	}
	if key := w.local[name]; key != "" {
		return key
	}
	if first, rest, ok := strings.Cut(name, "."); ok {
		if p := w.imports[w.file][first]; p != "" {
			return p + "." + rest
		}
		return ""
	}
	if ident, ok := e.(*ast.Ident); ok && ident.Name != "nil" && ident.Name != "err" && ident.Name != "true" && ident.Name != "false" {
		return w.pkg.path + "." + name
	}
	return ""
}

func (c *goCLI) resolve(key string) string { return resolveAlias(c.alias, key) }

func resolveAlias(alias map[string]string, key string) string {
	for range 8 {
		next, ok := alias[key]
		if !ok || next == key {
			break
		}
		key = next
	}
	return key
}

// flagSet says which command the flags of an expression belong to; "!" is the program.
func (w *goWalk) flagSet(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		switch sel.Sel.Name {
		case "Flags", "PersistentFlags", "LocalFlags":
			return w.command(sel.X)
		case "NewFlagSet":
			if x := spelled(sel.X); len(e.Args) > 0 && x != "" && (x == w.std[w.file] || x == w.pflag[w.file]) {
				name, _ := w.text(e.Args[0], 0)
				pos := w.pkg.fset.Position(e.Pos())
				key := w.pkg.path + ".flagset@" + pos.Filename + ":" + strconv.Itoa(pos.Offset)
				if w.cmds[key] == nil {
					w.cmds[key] = &goCmd{key: key, name: name, s: w.pkg.sources[pos.Filename], from: pos.Offset, to: pos.Offset + 1}
					w.order = append(w.order, key)
				}
				return key
			}
		}
	default:
		name := spelled(e)
		switch {
		case name == "":
		case w.sets[name] != "":
			return w.sets[name]
		case name == w.std[w.file] || name == w.pflag[w.file] || name == w.std[w.file]+".CommandLine" || name == w.pflag[w.file]+".CommandLine":
			return "!"
		}
	}
	return ""
}

// call looks for AddCommand and for the definition of flags.
func (w *goWalk) call(n *ast.CallExpr) {
	if parent := w.adder[spelled(n.Fun)]; parent != "" {
		for _, a := range n.Args {
			if child := w.command(a); child != "" {
				w.edges = append(w.edges, [2]string{parent, child})
			}
		}
		return
	}
	w.giving(n)
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if sel.Sel.Name == "AddCommand" {
		parent := w.command(sel.X)
		for _, a := range n.Args {
			if child := w.command(a); child != "" && parent != "" {
				w.edges = append(w.edges, [2]string{parent, child})
			}
		}
		return
	}
	f, ok := flagCall(sel.Sel.Name)
	if !ok {
		return
	}
	set := w.flagSet(sel.X)
	if set == "" {
		return
	}
	args := n.Args[min(f.skip, len(n.Args)):]
	if len(args) < 2 {
		return
	}
	name, ok := w.text(args[0], 0)
	if !ok || name == "" {
		return
	}
	usage, _ := w.text(args[min(f.usage, len(args)-1)], 0)
	mark := "--"
	if spelled(sel.X) == w.std[w.file] && w.std[w.file] != "" || strings.Contains(set, ".flagset@") && w.std[w.file] != "" {
		mark = "-"
	}
	names := []string{mark + name}
	if f.short && len(args) > 1 {
		if s, ok := w.text(args[1], 0); ok && s != "" {
			names = []string{"-" + s, mark + name}
		}
	}
	def := ""
	if f.def > 0 && f.def < len(args) {
		if lit, ok := args[f.def].(*ast.BasicLit); ok && lit.Value != `""` && lit.Value != "0" && len(lit.Value) < 60 {
			def = lit.Value
		} else if id, ok := args[f.def].(*ast.Ident); ok && id.Name == "true" {
			def = "true"
		}
	}
	a, b := w.pkg.fset.Position(n.Pos()), w.pkg.fset.Position(n.End())
	s := w.pkg.sources[a.Filename]
	item := &cliItem{flag: true, name: mark + name, signature: flagSignature(names, f.value, def), text: usage, from: a.Offset, to: b.Offset}
	if set == "!" {
		if w.program == nil {
			w.program = &goCmd{}
		}
		w.program.flags = append(w.program.flags, item)
		w.program.flagSources = append(w.program.flagSources, s)
		return
	}
	cmd := w.cmds[w.resolve(set)]
	if strings.HasPrefix(set, "given to ") {
		if w.params[set] == nil {
			w.params[set] = &goCmd{}
		}
		cmd = w.params[set]
	}
	if cmd != nil {
		cmd.flags = append(cmd.flags, item)
		cmd.flagSources = append(cmd.flagSources, s)
	}
}

// giving notes that a function gets a command or its flags.
func (w *goWalk) giving(n *ast.CallExpr) {
	fn := w.command(n)
	if fn == "" {
		return
	}
	for _, a := range n.Args {
		key := w.flagSet(a)
		if id, ok := a.(*ast.Ident); ok && key == "" {
			key = w.local[id.Name]
		}
		if key != "" && key != "!" {
			w.given = append(w.given, [2]string{key, "given to " + fn})
		}
	}
}

type flagForm struct {
	skip  int // arguments before the name
	def   int // index of the default behind them, 0 for none
	usage int
	short bool
	value string
}

var flagTypes = strings.Fields("String Bool Int Int8 Int16 Int32 Int64 Uint Uint8 Uint16 Uint32 Uint64 Float32 Float64 Duration " +
	"StringSlice StringArray StringToString StringToInt IntSlice BoolSlice DurationSlice UintSlice IP IPNet IPMask BytesHex BytesBase64 Text Count Func BoolFunc Time")

// flagCall tells the form of a method that defines a flag from its name.
func flagCall(method string) (flagForm, bool) {
	switch method {
	case "Var":
		return flagForm{skip: 1, usage: 1, value: "value"}, true
	case "VarP":
		return flagForm{skip: 1, usage: 2, short: true, value: "value"}, true
	}
	base, short := strings.CutSuffix(method, "P")
	if base == "I" { // IP itself
		base, short = method, false
	}
	base, pointer := strings.CutSuffix(base, "Var")
	if !slices.Contains(flagTypes, base) {
		return flagForm{}, false
	}
	f := flagForm{short: short, def: 1, usage: 2, value: strings.ToLower(base)}
	if pointer {
		f.skip = 1
	}
	if base == "Bool" || base == "BoolFunc" || base == "Count" {
		f.value = ""
	}
	if base == "Func" || base == "BoolFunc" || base == "Count" {
		f.def, f.usage = 0, 1
	}
	if base == "Func" {
		f.value = "value"
	}
	if short {
		f.usage++
		if f.def > 0 {
			f.def++
		}
	}
	return f, true
}

// goCommands are those of the whole repository: a command can be added by another package.
type goCommands struct {
	all  []*goCLI
	dirs []string
}

func (g *goCommands) add(dir string, c *goCLI) {
	g.all = append(g.all, c)
	g.dirs = append(g.dirs, dir)
}

func (g *goCommands) claims() []*claim {
	alias, cmds, parents := map[string]string{}, map[string]*goCmd{}, map[string]string{}
	for _, c := range g.all {
		for k, v := range c.alias {
			alias[k] = v
		}
		for k, v := range c.cmds {
			cmds[k] = v
		}
	}
	for _, c := range g.all {
		for _, e := range c.edges {
			parent, child := resolveAlias(alias, e[0]), resolveAlias(alias, e[1])
			if cmds[parent] != nil && cmds[child] != nil && parents[child] == "" && parent != child {
				parents[child] = parent
			}
		}
	}
	params, programs := map[string]*goCmd{}, map[string]bool{}
	for _, c := range g.all {
		for k, v := range c.params {
			params[k] = v
		}
		for _, p := range c.programs {
			programs[p] = true
		}
	}
	for _, c := range g.all {
		for _, e := range c.given {
			cmd, from := cmds[resolveAlias(alias, e[0])], params[e[1]]
			if cmd == nil || from == nil {
				continue
			}
			for i, f := range from.flags {
				copied := *f
				cmd.flags = append(cmd.flags, &copied)
				cmd.flagSources = append(cmd.flagSources, from.flagSources[i])
			}
		}
	}
	// A command without a parent is a program; if some have the name of one, only those are:
	// of the others we do not know how they are called.
	known := false
	for key, cmd := range cmds {
		word, _, _ := strings.Cut(strings.TrimSpace(cmd.use), " ")
		known = known || parents[key] == "" && programs[word]
	}
	var full func(key string, depth int) (string, bool)
	full = func(key string, depth int) (string, bool) {
		cmd := cmds[key]
		word, _, _ := strings.Cut(strings.TrimSpace(cmd.use), " ")
		if depth > 10 || word == "" || cmd.hidden {
			return "", false
		}
		if parents[key] == "" {
			return word, !known || programs[word]
		}
		above, ok := full(parents[key], depth+1)
		return above + " " + word, ok
	}
	var out []*claim
	for i, c := range g.all {
		program := path.Base(c.pkg.path)
		for _, key := range c.order {
			cmd := c.cmds[key]
			name, ok := "", true
			if strings.Contains(key, ".flagset@") {
				name = strings.TrimSpace(lastPart(c.pkg.path) + " " + cmd.name)
				ok = c.main && cmd.name != ""
				if cmd.name == lastPart(c.pkg.path) {
					name = cmd.name
				}
			} else {
				name, ok = full(key, 0)
			}
			if !ok || cmd.s == nil {
				continue
			}
			root, rest, _ := strings.Cut(name, " ")
			items := []*cliItem{{command: rest, signature: usageLine(name, cmd.use), text: shortLong(cmd.short, cmd.long), from: cmd.from, to: cmd.to}}
			out = append(out, cliClaims("go", "", root, cmd.s, items)...)
			for n, f := range cmd.flags {
				f.command = rest
				out = append(out, cliClaims("go", "", root, cmd.flagSources[n], []*cliItem{f})...)
			}
		}
		if c.program != nil && c.main {
			for n, f := range c.program.flags {
				out = append(out, cliClaims("go", g.dirs[i], program, c.program.flagSources[n], []*cliItem{f})...)
			}
		}
	}
	return out
}

// usageLine is the Use line with the path of the command before it.
func usageLine(name, use string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(use), " ")
	return strings.TrimSpace(name + " " + oneLine(rest, 200))
}

func shortLong(short, long string) string {
	short, long = strings.TrimSpace(short), strings.TrimSpace(unindent(long))
	switch {
	case long == "" || long == short:
		return short
	case short == "" || strings.HasPrefix(long, strings.TrimSuffix(short, ".")):
		return long
	}
	return short + "\n\n" + long
}
