package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// weigh writes what each linked module has as machine code in the program of a platform, the
// heaviest first, as a table for docs/dependencies.md. What the runtime keeps of it besides (types,
// names, lines) is about as much again.
func (r *Release) weigh(w io.Writer, platform, work string) error {
	exe, err := filepath.Abs(filepath.Join(work, "ramet"))
	if err != nil {
		return err
	}
	if _, err := r.goTool(platform, "build", "-trimpath", "-buildvcs=false", "-o", exe, r.main()); err != nil {
		return err
	}
	modules, err := r.linked(platform)
	if err != nil {
		return err
	}
	symbols, err := r.goTool(platform, "tool", "nm", "-size", exe)
	if err != nil {
		return err
	}
	code := map[string]int{}
	all := 0
	for lines := bufio.NewScanner(bytes.NewReader(symbols)); lines.Scan(); {
		f := strings.Fields(lines.Text()) // address, size, kind, name
		if len(f) < 4 || !strings.EqualFold(f[2], "t") {
			continue
		}
		size, err := strconv.Atoi(f[1])
		if err != nil {
			return fmt.Errorf("read what go tool nm says: %q", lines.Text())
		}
		code[r.owner(f[3], modules)] += size
		all += size
	}
	modules = append(modules, module{Path: r.module()})
	slices.SortStableFunc(modules, func(a, b module) int { return cmp.Compare(code[b.Path], code[a.Path]) })
	fmt.Fprintf(w, "| module | version | kB of code |\n|---|---|---|\n")
	for _, m := range modules {
		fmt.Fprintf(w, "| `%s` | %s | %d |\n", m.Path, m.Version, (code[m.Path]+512)/1024)
	}
	_, err = fmt.Fprintf(w, "\n%d modules besides the standard library, %.1f MB of code.\n", len(modules)-2, float64(all)/(1<<20))
	return err
}

// owner is the module of a symbol: the one with the longest path that its name begins with, else
// the standard library.
func (r *Release) owner(symbol string, modules []module) string {
	symbol = strings.TrimPrefix(strings.TrimPrefix(symbol, "type:.eq."), "type:.hash.") // how its values are compared
	best := "std"
	for _, m := range append([]module{{Path: r.module()}}, modules...) {
		// The linker writes the dots of a path's last part as %2e.
		path := m.Path[:strings.LastIndex(m.Path, "/")+1] + strings.ReplaceAll(m.Path[strings.LastIndex(m.Path, "/")+1:], ".", "%2e")
		rest, ok := strings.CutPrefix(symbol, m.Path)
		if !ok {
			rest, ok = strings.CutPrefix(symbol, path)
		}
		if ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")) && (best == "std" || len(m.Path) > len(best)) {
			best = m.Path
		}
	}
	return best
}
