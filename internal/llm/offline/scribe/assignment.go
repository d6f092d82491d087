// Package scribe writes pages of documentation from claims, without a mind: it arranges
// what the claims say.
//
// It promises:
//
//   - Nothing is said on a page that no claim of the page says, headings and the names of
//     lists apart; each piece is followed by the marker of its claim.
//   - The same assignment gives the same bytes.
//   - A page has one title, headings go down one level at a time, fences are closed, and
//     what a claim says cannot break out of its place.
//   - Of a page that exists only what stands between its own marks changes (see Block).
//
// Assignments and issues are read from JSON with types of this package: a model knows
// nothing of the program that asks it.
package scribe

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Evidence is where a claim was found.
type Evidence struct {
	File string `json:"file"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// Claim is one fact.
type Claim struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name"`
	Module    string     `json:"module"`
	Language  string     `json:"language"`
	Signature string     `json:"signature"`
	Text      string     `json:"text"`
	Evidence  []Evidence `json:"evidence"`
}

// Page is one file to be written.
type Page struct {
	Path    string   `json:"path"`
	Title   string   `json:"title"`
	Brief   string   `json:"brief"`
	Claims  []string `json:"claims"`
	Related []string `json:"related"`
	Update  bool     `json:"update"`
}

// Section is a part of the documentation.
type Section struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Brief string `json:"brief"`
	Pages []Page `json:"pages"`
}

// Assignment is what one worker writes.
type Assignment struct {
	Project string            `json:"project"`
	Section Section           `json:"section"`
	Claims  map[string]Claim  `json:"claims"`
	Titles  map[string]string `json:"titles"`
}

// Issue is something to be mended.
type Issue struct {
	Gate, Code, Message string
	Files               []string
	Line                int // of the page without markers; 0: none
}

// The first lines of the two orders.
var (
	draftLine = lazily(`^Draft the section "([a-z0-9-]{1,63})" of the documentation(?: of .{1,200})?\.$`)
	mendLine  = lazily(`^Mend one issue in the documentation(?: of .{1,200})?\.$`)
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// mostPages is how many pages one order may have.
const mostPages = 2000

// Draft reads an order to draft a section. ok is false if the text is no such order; why
// says what is wrong with one that is.
func Draft(order string) (a Assignment, why string, ok bool) {
	m := draftLine().FindStringSubmatch(firstLine(order))
	if m == nil {
		return a, "", false
	}
	blocks := jsonBlocks(order)
	if len(blocks) == 0 {
		return a, "the assignment is missing: a block of JSON between fences", true
	}
	if err := decode(blocks[len(blocks)-1], &a); err != nil {
		return a, "the assignment is no JSON that I can read: " + err.Error(), true
	}
	switch {
	case a.Section.Name != m[1]:
		return a, "the order and the assignment name different sections", true
	case len(a.Section.Pages) == 0:
		return a, "the assignment has no pages", true
	case len(a.Section.Pages) > mostPages:
		return a, "the assignment has too many pages for one order", true
	}
	seen := map[string]bool{}
	for _, p := range a.Section.Pages {
		if !cleanPath(p.Path) || seen[strings.ToLower(p.Path)] {
			return a, "a page has a path that is not clean, or not its own", true
		}
		seen[strings.ToLower(p.Path)] = true
	}
	return a, "", true
}

// Mend reads an order to mend an issue, which stands in lines such as "Code: LINK_MISSING"
// up to the one that tells the problem; sections are those of the plan.
func Mend(order string) (i Issue, sections []Section, why string, ok bool) {
	if !mendLine().MatchString(firstLine(order)) {
		return i, nil, "", false
	}
	for line := range strings.Lines(order) {
		m := issueLine().FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m == nil {
			continue
		}
		switch m[1] {
		case "Gate":
			i.Gate = m[2]
		case "Code":
			i.Code = m[2]
		case "File":
			i.Files = append(i.Files, m[2])
		case "Line":
			i.Line, _ = strconv.Atoi(m[2])
		case "Problem":
			i.Message = m[2]
		}
		if i.Message != "" { // what follows may be anything
			break
		}
	}
	if i.Code == "" || i.Message == "" {
		return i, nil, "the issue is missing: lines that begin with Code: and Problem:", true
	}
	blocks := jsonBlocks(order)
	if len(blocks) == 0 {
		return i, nil, "the plan is missing: a block of JSON between fences", true
	}
	var plan struct {
		Sections []Section `json:"sections"`
	}
	if err := decode(blocks[len(blocks)-1], &plan); err != nil {
		return i, nil, "the plan is no JSON that I can read: " + err.Error(), true
	}
	for _, s := range plan.Sections {
		s.Pages = slices.DeleteFunc(s.Pages, func(p Page) bool { return !cleanPath(p.Path) })
		sections = append(sections, s)
	}
	return i, sections, "", true
}

var issueLine = lazily(`^(Gate|Code|File|Line|Problem): (.*)$`)

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(s, " \t\r\n"), "\n")
	return strings.TrimSpace(first)
}

// jsonBlocks are the blocks between ```json and ```. Line feeds in JSON strings are
// escaped, so that no line of it looks like a fence.
func jsonBlocks(s string) []string {
	var out []string
	var now []string
	in := false
	for line := range strings.Lines(s) {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "```json": // in a block too: what stood before it was none
			in, now = true, nil
		case in && bare == "```":
			in = false
			out = append(out, strings.Join(now, ""))
		case in:
			now = append(now, line)
		}
	}
	return out
}

func decode(s string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	return d.Decode(into)
}

// cleanPath says whether a path is one of Markdown that stays where it is.
func cleanPath(p string) bool {
	if !strings.HasSuffix(p, ".md") || strings.ContainsAny(p, "\\:\n\r\x00") || strings.HasPrefix(p, "/") {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}
