package pages

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/docs/markdown"
)

var (
	markerName = regexp.MustCompile(`(?i)^\s*claims?\b`)
	markerForm = regexp.MustCompile(`^[ \t]*claim:[ \t]*([A-Za-z0-9._-]+(?:[ \t]*,[ \t]*[A-Za-z0-9._-]+)*)[ \t]*$`)
	openMarker = regexp.MustCompile(`(?i)(?:^|[^\\])(<!--+\s*claims?\b)`)
)

// LooksLikeMarker says whether the text of a comment is, or was meant as, a marker.
func LooksLikeMarker(comment string) bool { return markerName.MatchString(comment) }

// OpenMarker is where in a text that is no comment the beginning of a marker stands.
func OpenMarker(text []byte) (int, bool) {
	if m := openMarker.FindSubmatchIndex(text); m != nil {
		return m[2], true
	}
	return 0, false
}

// marker is one that was found.
type marker struct {
	markdown.Span
	claims []string
}

// passes is how often a page is gone through: what was code beside a marker may be none
// without it.
const passes = 10

// Strip takes the markers out of a page. Those that are not in their form stay, and are
// problems; those in code are text, and stay. Lines are those of the clean page.
func Strip(page []byte) (clean []byte, cites []docs.CiteAt, bad []Problem) {
	for range passes {
		parsed, err := markdown.Parse(page)
		if err != nil {
			return page, cites, []Problem{{Line: 1, Message: err.Error()}}
		}
		var markers []marker
		if markers, bad = find(parsed); len(markers) == 0 {
			break
		}
		c := cutter{page: parsed, markers: markers}
		c.run()
		for i := range cites {
			cites[i].Line = c.now(cites[i].Line)
		}
		for i := range bad {
			bad[i].Line = c.now(bad[i].Line)
		}
		cites = append(cites, c.cites...)
		page = c.out.Bytes()
	}
	slices.SortStableFunc(cites, func(a, b docs.CiteAt) int { return a.Line - b.Line })
	return page, cites, bad
}

// find looks for markers. A comment is one where the page says so: the parser knows what
// is code.
func find(p *markdown.Page) (markers []marker, bad []Problem) {
	complain := func(at int, message string) {
		bad = append(bad, Problem{Line: p.Line(at), Message: message})
	}
	for _, h := range p.HTML() {
		for _, c := range h.Comments() {
			if !LooksLikeMarker(c.Text) {
				continue
			}
			m := markerForm.FindStringSubmatch(c.Text)
			switch {
			case c.Unclosed:
				complain(c.From, "a claim marker is not closed: end it with -->")
			case !c.OneLine || m == nil || !bytes.HasPrefix(p.Source[c.From:c.To], []byte("<!--")):
				complain(c.From, "a claim marker is not in its form: write <!-- claim: ID --> on one line, with the id of a claim")
			default:
				at := marker{Span: c.Span}
				for id := range strings.SplitSeq(m[1], ",") {
					at.claims = append(at.claims, strings.TrimSpace(id))
				}
				markers = append(markers, at)
			}
		}
	}
	for _, s := range p.Prose() {
		if i, ok := OpenMarker(p.Source[s.From:s.To]); ok {
			complain(s.From+i, "a claim marker is not closed: end it with -->")
		}
	}
	return markers, bad
}
