package pages

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// Forges refuse bodies over 64 KiB; the evidence is the part that can be shortened.
const (
	bodyLimit     = 60_000
	shownEvidence = 8 // places for each page
)

// Body is the text of the pull request: what changed, on what it rests, how to check it
// and how to go back. changed are the paths that differ from the base.
func Body(plan docs.Plan, facts docs.Facts, cited docs.Citations, changed []string) []byte {
	changed = slices.Compact(slices.Sorted(slices.Values(changed)))
	for shown := shownEvidence; ; shown /= 2 {
		body := bodyWith(plan, facts, cited, changed, shown)
		if len(body) <= bodyLimit {
			return body
		}
		if shown == 0 {
			const note = "\n\n(Shortened: the list is too long for a pull request.)\n"
			return append(bytes.ToValidUTF8(body[:bodyLimit], nil), note...)
		}
	}
}

func bodyWith(plan docs.Plan, facts docs.Facts, cited docs.Citations, changed []string, shown int) []byte {
	var b bytes.Buffer
	count, total := map[string]int{}, 0
	ids := map[string][]string{}
	for _, c := range cited.Pages {
		for _, at := range c.Claims {
			if !slices.Contains(ids[c.Path], at.Claim) {
				ids[c.Path] = append(ids[c.Path], at.Claim)
			}
		}
		count[c.Path] = len(ids[c.Path])
		total += count[c.Path]
	}
	fmt.Fprintf(&b, "# Documentation of %s\n\n", escape(plan.Title))
	fmt.Fprintf(&b, "Written from the source at commit `%s`: %s, %s.\n\n", plan.Commit,
		number(len(changed), "file changed", "files changed"), number(total, "fact cited", "facts cited"))

	b.WriteString("## What changed\n\n")
	listed := map[string]bool{}
	for _, s := range plan.Sections {
		var rows []string
		for _, p := range s.Pages {
			if !slices.Contains(changed, p.Path) || listed[p.Path] {
				continue
			}
			listed[p.Path] = true
			rows = append(rows, fmt.Sprintf("| %s | %s | %d |\n", strings.ReplaceAll(code(p.Path), "|", `\|`), escape(p.Title), count[p.Path]))
		}
		if len(rows) > 0 {
			fmt.Fprintf(&b, "### %s\n\n| Page | Title | Facts cited |\n|---|---|---|\n%s\n", escape(s.Title), strings.Join(rows, ""))
		}
	}
	var others []string
	for _, c := range changed {
		if !listed[c] {
			others = append(others, "- "+code(c)+"\n")
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "### Other files\n\n%s\n", strings.Join(others, ""))
	}
	if len(changed) == 0 {
		b.WriteString("Nothing: the pages are what they were.\n\n")
	}
	evidence(&b, facts, cited, ids, changed, shown)
	fmt.Fprintf(&b, "## How to check\n\n"+
		"1. Check out the documented source: `git checkout %s`.\n"+
		"2. Open the places listed above, and compare them with what the page says.\n"+
		"3. Look at the pages as they will be shown, and follow their links.\n\n", plan.Commit)
	b.WriteString("## How to go back\n\n" +
		"- Before it is merged: close this pull request and delete its branch. Nothing else was changed.\n" +
		"- Afterwards: `git revert -m 1 <merge commit>`, or `git revert <commit>` where it was squashed.\n")
	return b.Bytes()
}

// evidence lists where the facts of each page can be found.
func evidence(b *bytes.Buffer, facts docs.Facts, cited docs.Citations, ids map[string][]string, changed []string, shown int) {
	claims := map[string]docs.Claim{}
	for _, c := range facts.Claims {
		claims[c.ID] = c
	}
	var part bytes.Buffer
	for _, page := range cited.Pages {
		if !slices.Contains(changed, page.Path) || len(ids[page.Path]) == 0 {
			continue
		}
		var places []string
		for _, id := range ids[page.Path] {
			for _, e := range claims[id].Evidence {
				at := fmt.Sprintf("%s:%d", e.File, e.From)
				if e.To > e.From {
					at += fmt.Sprintf("-%d", e.To)
				}
				if !slices.Contains(places, at) {
					places = append(places, at)
				}
			}
		}
		fmt.Fprintf(&part, "- %s:", code(page.Path))
		for i, at := range places {
			if i == shown {
				break
			}
			if i > 0 {
				part.WriteByte(',')
			}
			part.WriteString(" " + code(at))
		}
		if more := len(places) - shown; more > 0 {
			fmt.Fprintf(&part, " and %s", number(more, "place more", "places more"))
		}
		part.WriteByte('\n')
	}
	if part.Len() > 0 {
		fmt.Fprintf(b, "## Evidence\n\nFile and lines of the source that each page rests on:\n\n%s\n", part.Bytes())
	}
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// code is a text as code within a line, whatever it holds.
func code(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 || s == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}
