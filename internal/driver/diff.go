package driver

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

const (
	mostDiffed = 1 << 20 // bytes of a change that are compared line by line
	mostRead   = 4 << 20 // of a file in which a piece is looked for
)

// diff shows what a call changed in files, as our own tools do.
func (r *turn) diff(c *call) string {
	var b strings.Builder
	for _, d := range c.Diffs {
		name := d.Path
		if rel, ok := r.within([]string{d.Path}); ok {
			name = rel[0]
		}
		if len(d.Old)+len(d.New) > mostDiffed {
			fmt.Fprintf(&b, "%s: %d bytes before, %d now\n", name, len(d.Old), len(d.New))
			continue
		}
		from, to := "a/"+name, "b/"+name
		if d.Old == "" {
			from = "/dev/null"
		}
		u, err := udiff.ToUnifiedDiff(from, to, d.Old, udiff.Lines(d.Old, d.New), udiff.DefaultContextLines)
		if err != nil {
			continue // of edits that another function made
		}
		if skip := r.begins(d) - 1; skip > 0 {
			for _, h := range u.Hunks {
				h.FromLine, h.ToLine = h.FromLine+skip, h.ToLine+skip
			}
		}
		b.WriteString(u.String())
	}
	return b.String()
}

// begins is the line of its file at which a changed piece begins: as the program says, or where the
// piece stands in the file now, if that is in the agent's folder and there is only one such place.
func (r *turn) begins(d Diff) int {
	whole, ok := r.content(d.Path)
	if !ok || d.New == "" {
		return max(d.Line, 1)
	}
	at := strings.Index(whole, d.New)
	if at < 0 || strings.Contains(whole[at+1:], d.New) || at > 0 && whole[at-1] != '\n' {
		return max(d.Line, 1)
	}
	return 1 + strings.Count(whole[:at], "\n")
}

// content is the text of a file in the agent's folder.
func (r *turn) content(path string) (string, bool) {
	within, ok := r.within([]string{path})
	if !ok {
		return "", false
	}
	rel := within[0]
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(rel))
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
		return "", false
	}
	f, err := root.Open(filepath.FromSlash(rel))
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostRead))
	return string(data), err == nil
}
