package facts

import "golang.org/x/mod/modfile"

// goManifest reads go.mod. What is installed depends on the packages: see goClaims.
func goManifest(_ *tree, s *source, p *project) {
	f, err := modfile.Parse(s.path, s.data, nil)
	if err != nil { // of a newer Go, perhaps: what is understood still counts
		f, err = modfile.ParseLax(s.path, s.data, nil)
	}
	if err != nil || f.Module == nil {
		return
	}
	from, to := f.Module.Syntax.Span()
	name := f.Module.Mod.Path
	p.set(&p.name, "name", name, "The Go module is `"+name+"`.", s, from.Line, to.Line)
	p.replaced = len(f.Replace) > 0
	if f.Go != nil {
		from, to := f.Go.Syntax.Span()
		p.needs("Go", f.Go.Version, "Needs Go "+f.Go.Version+" or later.", s, from.Line, to.Line)
	}
	for _, r := range f.Require {
		if r.Indirect {
			continue
		}
		from, to := r.Syntax.Span()
		p.needs(r.Mod.Path, r.Mod.Version, dependsOn(r.Mod.Path, r.Mod.Version), s, from.Line, to.Line)
	}
}
