package scribe

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ramet/internal/llm/offline/prose"
)

// sheet is a page while it is written. Levels are as on a page of its own; shift moves
// them down on one that has a title already.
type sheet struct {
	a     *Assignment
	page  Page
	shift int
	out   []string // blocks
	all   []Claim  // of the page, in its order
	used  map[string]bool
}

func newSheet(a *Assignment, p Page, shift int) *sheet {
	s := &sheet{a: a, page: p, shift: shift, used: map[string]bool{}}
	for _, id := range p.Claims {
		if c, ok := a.Claims[id]; ok && claimID().MatchString(id) && !s.used[id] {
			c.ID = id
			s.all, s.used[id] = append(s.all, c), true
		}
	}
	s.used = map[string]bool{}
	return s
}

var claimID = lazily(`^[a-z0-9._-]+$`)

// marker cites claims.
func marker(claims ...Claim) string {
	var out []string
	for _, c := range claims {
		out = append(out, "<!-- claim: "+c.ID+" -->")
	}
	return strings.Join(out, "")
}

func (s *sheet) add(block string, claims ...Claim) {
	s.out = append(s.out, block)
	for _, c := range claims {
		s.used[c.ID] = true
	}
}

func (s *sheet) heading(level int, words string) {
	words = strings.Join(strings.Fields(words), " ")
	s.add(strings.Repeat("#", min(level+s.shift, 6)) + " " + words)
}

// say adds a paragraph.
func (s *sheet) say(markdown string, claims ...Claim) {
	s.add(prose.Wrap(markdown, "")+marker(claims...), claims...)
}

// list adds items, each with its claim.
func (s *sheet) list(items []string, of []Claim) {
	var lines []string
	for i, item := range items {
		line := "- " + prose.Wrap(item, "  ")
		if i < len(of) {
			line += marker(of[i])
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		s.add(strings.Join(lines, "\n"), of...)
	}
}

// table adds rows of cells, and the claims below it.
func (s *sheet) table(head []string, rows [][]string, of []Claim) {
	lines := []string{"| " + strings.Join(head, " | ") + " |", "|" + strings.Repeat(" --- |", len(head))}
	for _, r := range rows {
		for i := range r {
			r[i] = prose.Cell(r[i])
		}
		lines = append(lines, "| "+strings.Join(r, " | ")+" |")
	}
	s.add(strings.Join(lines, "\n"))
	if len(of) > 0 {
		s.add(wrapMarkers(of), of...)
	}
}

func wrapMarkers(of []Claim) string {
	var lines []string
	for _, c := range of {
		lines = append(lines, marker(c))
	}
	return strings.Join(lines, "\n")
}

// code adds a block, and the claim below it if it is not cited anyway.
func (s *sheet) code(text, language string, cite ...Claim) {
	s.add(prose.Fence(spread(text, language), language), cite...)
	if len(cite) > 0 {
		s.add(wrapMarkers(cite))
	}
}

// text adds what a claim says; headings begin at level. false: it says nothing.
func (s *sheet) text(c Claim, level int) bool {
	return s.blocks(c, prose.Blocks(c.Text, tongue(c), level+s.shift))
}

func (s *sheet) blocks(c Claim, blocks []prose.Block) bool {
	cited := false
	for i, b := range blocks {
		switch b.Kind {
		case prose.Paragraph, prose.List, prose.Quote:
			s.add(b.String()+marker(c), c)
			cited = true
		case prose.Table:
			s.add(b.String(), c)
			s.add(marker(c))
			cited = true
		default:
			s.add(b.String(), c)
			if last := i == len(blocks)-1; last && b.Kind == prose.Code && !cited {
				s.add(marker(c))
			}
		}
	}
	return len(blocks) > 0
}

// tongue is the language that the text of a claim is written in: doc comments follow the
// rules of theirs, the rest is Markdown.
func tongue(c Claim) string {
	switch c.Kind {
	case "module", "function", "type", "method", "value":
		return c.Language
	case "command", "flag":
		return "go" // plain text
	}
	return ""
}

// lead is the first sentence that a claim says, as Markdown of one line.
func lead(c Claim) string {
	for _, b := range prose.Blocks(c.Text, tongue(c), 3) {
		if b.Kind == prose.Paragraph {
			return prose.First(b.Text)
		}
	}
	return ""
}

// kind are the claims of some kinds that are not used yet.
func (s *sheet) kind(kinds ...string) []Claim {
	var out []Claim
	for _, c := range s.all {
		if slices.Contains(kinds, c.Kind) && !s.used[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

// seeAlso lists the related pages.
func (s *sheet) seeAlso(title string) {
	var items []string
	for _, r := range s.page.Related {
		if cleanPath(r) && r != s.page.Path {
			name := cmp.Or(s.a.Titles[r], strings.TrimSuffix(path.Base(r), ".md"))
			items = append(items, "["+prose.Escape(name)+"]("+relative(s.page.Path, r)+")")
		}
	}
	if len(items) > 0 {
		s.heading(2, title)
		s.list(items, nil)
	}
}

// contents lists all pages: those of one section under its first.
func (s *sheet) contents() {
	var lines []string
	for _, r := range s.page.Related {
		if !cleanPath(r) || r == s.page.Path {
			continue
		}
		link := "- [" + prose.Escape(cmp.Or(s.a.Titles[r], strings.TrimSuffix(path.Base(r), ".md"))) + "](" + relative(s.page.Path, r) + ")"
		if slices.Contains(s.page.Related, path.Dir(r)+".md") {
			link = "  " + link
		}
		lines = append(lines, link)
	}
	if len(lines) > 0 {
		s.heading(2, "Contents")
		s.add(strings.Join(lines, "\n"))
	}
}

// relative is the way from one page to another.
func relative(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	if a[0] == "." {
		a = nil
	}
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}

func (s *sheet) String() string { return strings.Join(s.out, "\n\n") + "\n" }
