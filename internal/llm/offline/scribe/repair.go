package scribe

import (
	"slices"
	"strings"
)

// Repair says how a page is changed so that an issue is gone, and what that does, as an
// order: "remove the link". did is empty if no rule helps. pages are the paths of the plan.
func Repair(i Issue, p Page, pages []string, page string) (c Change, did string) {
	r := &repair{issue: i, page: p, pages: pages, lines: strings.Split(strings.TrimRight(page, "\n"), "\n")}
	if i.Code == "MD_NO_FINAL_NEWLINE" {
		old := tail(r.lines)
		if old == "" {
			return c, ""
		}
		return Change{old, old + "\n"}, "end the last line"
	}
	before := slices.Clone(r.lines)
	rule, ok := rules[i.Code]
	if !ok {
		return c, ""
	}
	if did = rule(r); did == "" || slices.Equal(before, r.lines) {
		return c, ""
	}
	if c = difference(before, r.lines); c.Old == "" {
		return c, ""
	}
	return c, did
}

// repair is a page that is being mended.
type repair struct {
	issue Issue
	page  Page
	pages []string
	lines []string
}

// rules are what can be done, by the code of the issue. Each returns what it did, or
// nothing.
var rules = map[string]func(*repair) string{
	"LINK_MISSING": (*repair).link, "LINK_CASE": (*repair).link, "LINK_ANCHOR": (*repair).link, "LINK_OUTSIDE": (*repair).link,
	"LINK_FORBIDDEN": (*repair).link, "LINK_SYNTAX": (*repair).link, "LINK_UNDEFINED": (*repair).undefined,
	"MD_LINK_EMPTY": (*repair).emptyLinks, "MD_IMAGE_EMPTY": (*repair).emptyLinks,
	"CLAIM_UNKNOWN": (*repair).statement, "CLAIM_NOT_OF_PAGE": (*repair).statement, "CLAIM_EVIDENCE": (*repair).statement,
	"MD_HEADING_EMPTY": (*repair).headings, "MD_HEADING_JUMP": (*repair).headings, "MD_MANY_TITLES": (*repair).headings,
	"MD_NO_TITLE": (*repair).title, "MD_TEXT_BEFORE_TITLE": (*repair).title,
	"MD_FENCE_OPEN": (*repair).fence, "MD_CLAIM_MARKER": (*repair).markers, "MD_WRAPPED": (*repair).wrapped,
	"MD_TABLE_COLUMNS": (*repair).table, "MD_HTML": (*repair).html, "MD_HTML_HARMFUL": (*repair).html,
	"SECRET": (*repair).secret,
}

// difference is the change between two states of a page, as a text that stands on it once.
func difference(a, b []string) Change {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	q := 0
	for q < len(a)-p && q < len(b)-p && a[len(a)-1-q] == b[len(b)-1-q] {
		q++
	}
	text := strings.Join(a, "\n")
	for {
		old := strings.Join(a[p:len(a)-q], "\n")
		// With lines on both sides the line feeds come out right.
		if strings.TrimSpace(old) != "" && strings.Count(text, old) == 1 && len(b)-q > p {
			return Change{old, strings.Join(b[p:len(b)-q], "\n")}
		}
		switch {
		case p > 0:
			p--
		case q > 0:
			q--
		default:
			return Change{}
		}
	}
}

// at is where a line of the written page stands on this one, which still has lines that
// hold markers alone. -1: nowhere.
func (r *repair) at(line int) int {
	n, blank := 0, false
	gap := false
	for i, l := range r.lines {
		bare := strings.TrimSpace(l)
		if bare != "" && strings.TrimSpace(anyMarker().ReplaceAllString(bare, "")) == "" {
			gap = true
			continue
		}
		if gap && bare == "" && blank {
			continue
		}
		gap = false
		blank = bare == ""
		if n++; n == line {
			return i
		}
	}
	return -1
}

var anyMarker = lazily(`<!--\s*claim:\s*[a-z0-9._-]+\s*-->`)

// tidy takes away headings under which nothing is left, and blank lines that met.
func (r *repair) tidy() {
	for again := true; again; {
		again = false
		for i, l := range outline(r.lines) {
			if l.level < 2 || l.code {
				continue
			}
			next := i + 1
			for next < len(r.lines) && strings.TrimSpace(r.lines[next]) == "" {
				next++
			}
			empty := next == len(r.lines) || strings.HasPrefix(strings.TrimSpace(r.lines[next]), "<!-- ramet:end ")
			if m := headingLine().FindStringSubmatch(at(r.lines, next)); m != nil && len(m[1]) <= l.level {
				empty = true
			}
			if empty {
				r.lines = slices.Delete(r.lines, i, next)
				again = true
				break
			}
		}
	}
	kinds := outline(r.lines)
	var out []string
	for i, l := range r.lines {
		if n := len(out); strings.TrimSpace(l) == "" && !kinds[i].code && (n == 0 || strings.TrimSpace(out[n-1]) == "") {
			continue
		}
		out = append(out, l)
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	r.lines = out
}

func at(lines []string, i int) string {
	if i < 0 || i >= len(lines) {
		return ""
	}
	return lines[i]
}
