package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of one file: the bytes from start to end become after.
type mutant struct {
	file       string // below the checkout
	line       int
	start, end int
	after      string
	source     []byte
}

// name returns the package's path below internal.
func (m mutant) name() string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Dir(m.file)), "internal/")
}

// key identifies the mutant by its text, so that it survives changes elsewhere in the file.
func (m mutant) key() string {
	before, after := m.lines()
	return filepath.ToSlash(m.file) + " | " + before + " | " + after
}

func (m mutant) String() string {
	before, after := m.lines()
	return fmt.Sprintf("%s:%d\n             %s\n          -> %s", m.file, m.line, before, after)
}

// lines returns the lines that change, before and after, on one line each.
func (m mutant) lines() (before, after string) {
	from := strings.LastIndexByte(string(m.source[:m.start]), '\n') + 1
	to := len(m.source)
	if n := strings.IndexByte(string(m.source[m.end:]), '\n'); n >= 0 {
		to = m.end + n
	}
	fold := func(parts ...string) string { return strings.Join(strings.Fields(strings.Join(parts, "")), " ") }
	head, tail := string(m.source[from:m.start]), string(m.source[m.end:to])
	return fold(head, string(m.source[m.start:m.end]), tail), fold(head, m.after, tail)
}

// apply returns the mutated file.
func (m mutant) apply() []byte {
	out := append([]byte{}, m.source[:m.start]...)
	out = append(out, m.after...)
	return append(out, m.source[m.end:]...)
}

// swapped lists the operators that replace each other.
var swapped = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.REM: "*",
}

// findMutants returns every mutant of the package in the folder, tests apart. Files that are not
// built on this system have none.
func findMutants(root, folder string) ([]mutant, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := build.Default.MatchFile(filepath.Join(root, folder), name); err != nil || !ok {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, folder, name))
		if err != nil {
			return nil, err
		}
		found, err := mutateFile(filepath.Join(folder, name), source)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// mutateFile returns every mutant of one file. Capacities of slices, and what Grow reserves, are left alone: they
// change no behaviour.
func mutateFile(file string, source []byte) ([]mutant, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, 0)
	if err != nil {
		return nil, err
	}
	var all []mutant
	replace := func(from, to token.Pos, after string) {
		start, end := files.Position(from), files.Position(to)
		all = append(all, mutant{file: file, line: start.Line, start: start.Offset, end: end.Offset, after: after, source: source})
	}
	negate := func(cond ast.Expr) {
		text := string(source[files.Position(cond.Pos()).Offset:files.Position(cond.End()).Offset])
		replace(cond.Pos(), cond.End(), "!("+text+")")
	}
	dropStatements := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt:
				replace(s.Pos(), s.End(), "")
			case *ast.AssignStmt:
				if s.Tok != token.DEFINE {
					replace(s.Pos(), s.End(), "")
				}
			}
		}
	}
	failing := map[ast.Stmt]bool{} // returns of an error that is not nil
	memory := map[ast.Node]bool{}  // expressions that only say how much memory to reserve
	ast.Inspect(tree, func(n ast.Node) bool {
		if memory[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "make" && len(n.Args) == 3 {
				memory[n.Args[2]] = true
			}
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Grow" {
				memory[n.Args[len(n.Args)-1]] = true
			}
		case *ast.IfStmt:
			if _, ok := n.Cond.(*ast.BinaryExpr); !ok {
				negate(n.Cond)
			}
			if text := string(source[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset]); text == "err != nil" {
				for _, s := range n.Body.List {
					failing[s] = true
				}
			}
		case *ast.BinaryExpr:
			if after, ok := swapped[n.Op]; ok {
				replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), after)
			}
		case *ast.BlockStmt:
			dropStatements(n.List)
		case *ast.CaseClause:
			dropStatements(n.Body)
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if name, ok := result.(*ast.Ident); ok {
					switch name.Name {
					case "err":
						replace(name.Pos(), name.End(), "nil")
					case "true", "false":
						if !failing[n] { // by convention no caller reads what is next to an error
							replace(name.Pos(), name.End(), map[string]string{"true": "false", "false": "true"}[name.Name])
						}
					}
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.INT && n.Value != "0" {
				replace(n.Pos(), n.End(), "("+n.Value+" + 1)")
			}
		}
		return true
	})
	return all, nil
}
