package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"ramet/internal/docs"
	"ramet/internal/docs/markdown"
	"ramet/internal/fault"
)

// Claims looks at whether pages say what they can prove. It needs Tree, Repo, Facts, Plan
// and Citations.
//
// A page with claims must cite one at least. A section of the second level should, where
// it states something: where it has a table, code, or more than a dozen words of prose
// that are no links.
func Claims(s *Site) []Finding {
	var out findings
	planned := s.planned()
	claims := map[string]docs.Claim{}
	for _, c := range s.Facts.Claims {
		claims[c.ID] = c
	}
	cited := map[string][]docs.CiteAt{}
	failed := map[string]string{} // claim: why its evidence does not hold, or ""
	for _, c := range s.Citations.Pages {
		page, ok := planned[c.Path]
		if !ok {
			out.add(Error, "CLAIM_PAGE_UNPLANNED", c.Path, 0, "the page cites claims and is not in the plan: take its markers out, or plan it", "")
			continue
		}
		cited[c.Path] = append(cited[c.Path], c.Claims...)
		for _, at := range c.Claims {
			claim, known := claims[at.Claim]
			switch {
			case !known:
				out.add(Error, "CLAIM_UNKNOWN", c.Path, at.Line, fmt.Sprintf("claim %.200q does not exist: cite one of the claims of the page", at.Claim), "")
				continue
			case !slices.Contains(page.Claims, at.Claim):
				out.add(Error, "CLAIM_NOT_OF_PAGE", c.Path, at.Line, fmt.Sprintf("claim %s is not one of this page's: cite one of those that the plan gives it", at.Claim), "")
			}
			if _, done := failed[at.Claim]; !done {
				failed[at.Claim] = s.broken(claim)
			}
			if why := failed[at.Claim]; why != "" {
				out.add(Error, "CLAIM_EVIDENCE", c.Path, at.Line, fmt.Sprintf("the evidence of claim %s does not hold: %s", at.Claim, why), "leave out what the claim says, or take the facts again")
			}
		}
	}
	for _, sec := range s.Plan.Sections {
		for _, p := range sec.Pages {
			s.cites(&out, p, cited[p.Path])
		}
	}
	return out.sorted()
}

// broken says why the evidence of a claim does not hold.
func (s *Site) broken(c docs.Claim) string {
	if len(c.Evidence) == 0 {
		return "it has none"
	}
	for _, e := range c.Evidence {
		if err := s.evidence(e); err != nil {
			return err.Error()
		}
	}
	return ""
}

// cites looks at whether a page of the plan is there and cites enough.
func (s *Site) cites(out *findings, p docs.Page, cited []docs.CiteAt) {
	if s.kind(p.Path) != file {
		out.add(Error, "CLAIM_PAGE_MISSING", p.Path, 0, "the plan has this page, and nobody wrote it: write it", "")
		return
	}
	if len(p.Claims) == 0 {
		return // there is nothing to cite
	}
	if len(cited) == 0 {
		out.add(Error, "CLAIM_NONE", p.Path, 0, "the page cites no claim: put <!-- claim: ID --> behind the sentences that state facts", "")
		return
	}
	page := s.page(p.Path)
	if page == nil {
		return // the gate of Markdown tells
	}
	for _, part := range parts(page) {
		inside := func(c docs.CiteAt) bool { return part.from <= c.Line && c.Line < part.to }
		if part.states && !slices.ContainsFunc(cited, inside) {
			out.add(Warn, "CLAIM_SECTION_NONE", p.Path, part.from, fmt.Sprintf("section %.200q states facts and cites no claim: cite one, or say less", part.title), "")
		}
	}
}

// part is a section of the second level.
type part struct {
	title    string
	from, to int // lines, to is not in it
	states   bool
}

// fewWords is what a section may say without proof: a sentence that leads to links.
const fewWords = 12

func parts(p *markdown.Page) []part {
	var out []part
	for _, h := range p.Headings() {
		if h.Node.Parent() != p.Root || h.Level > 2 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].to == 0 {
			out[n-1].to = h.Line
		}
		if h.Level != 2 {
			continue
		}
		at := part{title: h.Text, from: h.Line}
		words := 0
		for n := h.Node.NextSibling(); n != nil && !ends(n); n = n.NextSibling() {
			words += weight(p, n)
		}
		at.states = words > fewWords
		out = append(out, at)
	}
	if n := len(out); n > 0 && out[n-1].to == 0 {
		out[n-1].to = p.Lines() + 1
	}
	return out
}

func ends(n ast.Node) bool {
	h, ok := n.(*ast.Heading)
	return ok && h.Level <= 2
}

// weight is how many words a block states; tables and code count as many.
func weight(p *markdown.Page, n ast.Node) int {
	words := 0
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading, *ast.Link, *ast.Image, *ast.AutoLink:
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			words += 2 * fewWords
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			words += len(strings.Fields(string(n.Segment.Value(p.Source))))
		}
		if n.Kind().String() == "Table" {
			words += 2 * fewWords
		}
		return ast.WalkContinue, nil
	})
	return words
}

// Held says whether the lines of evidence are in a tree and hash the same.
func Held(fsys fs.FS, e docs.Evidence) error {
	if !fs.ValidPath(e.File) {
		return fault.New(fault.Conflict, "%.200q is no path of a file", e.File)
	}
	data, err := fs.ReadFile(fsys, e.File)
	if err != nil {
		return fault.New(fault.Conflict, "%s cannot be read: %w", e.File, err)
	}
	sum, line := sha256.New(), 0
	for text := range strings.Lines(string(data)) {
		line++
		if e.From <= line && line <= e.To {
			sum.Write([]byte(text))
		}
	}
	switch {
	case e.From < 1 || e.To < e.From || e.To > line:
		return fault.New(fault.Conflict, "%s has no lines %d to %d", e.File, e.From, e.To)
	case hex.EncodeToString(sum.Sum(nil)) != e.SHA256:
		return fault.New(fault.Conflict, "lines %d to %d of %s have changed", e.From, e.To, e.File)
	}
	return nil
}
