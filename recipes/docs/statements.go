package docs

import (
	"fmt"
	"strings"
)

// Statement is what a page says with a citation, for somebody who judges whether it follows.
type Statement struct {
	ID    int    `json:"id"`   // from 1, in the order of the page
	Line  int    `json:"line"` // of the draft
	Text  string `json:"statement"`
	Lines string `json:"lines"` // that it cites, each place below its name
}

// SplitStatements are those of a draft that cite something. Code is left out: it is compared line by line.
func SplitStatements(draft string, r *Repository) []Statement {
	blocks, _ := splitBlocks(draft)
	out := []Statement{}
	for _, b := range blocks {
		if b.kind != prose || len(b.cites) == 0 {
			continue
		}
		var lines strings.Builder
		for _, c := range b.cites {
			fmt.Fprintf(&lines, "%s:%d-%d\n", c.File, c.From, c.To)
			if found := r.proves(c); len(found) <= maxLines {
				lines.WriteString(strings.Join(found, ""))
			}
		}
		out = append(out, Statement{ID: len(out) + 1, Line: b.line, Text: strings.TrimSpace(b.text), Lines: lines.String()})
	}
	return out
}
