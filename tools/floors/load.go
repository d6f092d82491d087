package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// house is a package: its files, and who uses what of whom.
type house struct {
	name  string
	files []string // by name
	uses  []use
}

// use is one file's use of a name that another file declares.
type use struct {
	by, of int // files
	name   string
}

// load reads packages with their types; tests are left out.
func load(patterns []string) ([]house, error) {
	found, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var out []house
	for _, p := range found {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, errors.Join(wrap(p.Errors)...))
		}
		out = append(out, read(p))
	}
	return out, nil
}

func wrap(list []packages.Error) []error {
	var out []error
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// read finds the uses of a package's own names across its files. A method and a field
// count as names of the file that declares them.
func read(p *packages.Package) house {
	h := house{name: p.PkgPath}
	at := map[string]int{}
	for _, f := range p.Syntax {
		h.files = append(h.files, filepath.Base(p.Fset.Position(f.Package).Filename))
	}
	slices.Sort(h.files)
	for i, f := range h.files {
		at[f] = i
	}
	fileOf := func(n ast.Node) int { return at[filepath.Base(p.Fset.Position(n.Pos()).Filename)] }
	seen := map[use]bool{}
	for ident, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types || !top(object, p.Types) {
			continue
		}
		of, known := at[filepath.Base(p.Fset.Position(object.Pos()).Filename)]
		by := fileOf(ident)
		if !known || by == of {
			continue
		}
		u := use{by, of, object.Name()}
		if !seen[u] {
			seen[u] = true
			h.uses = append(h.uses, u)
		}
	}
	slices.SortFunc(h.uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.of, b.of), cmp.Compare(a.name, b.name))
	})
	return h
}

// top says whether an object is declared outside of functions: at the top, or as a
// method. Fields go with their type.
func top(o types.Object, pkg *types.Package) bool {
	if o.Parent() == pkg.Scope() {
		return true
	}
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil
}
