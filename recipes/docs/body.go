package docs

import (
	"fmt"
	"slices"
	"strings"
)

const shownCites = 12 // of each page

// writeBody writes the text of the pull request: what changed, on what it rests, what was left out,
// how to check it and how to go back.
func writeBody(p Plan, d drafts, made map[string][]byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Documentation of %s\n\nWritten from the text of the repository at commit `%s`.\n\n## What changed\n\n", strings.Join(strings.Fields(p.Title), " "), p.Commit)
	if len(made) == 0 {
		b.WriteString("Nothing: the pages are what they were.\n\n")
	}
	for _, page := range p.Pages {
		if _, ok := made[page.Path]; !ok {
			continue
		}
		var places []string
		for _, c := range FindCites(d.Pages[page.Path]) {
			if at := fmt.Sprintf("`%s:%d-%d`", c.File, c.From, c.To); !slices.Contains(places, at) {
				places = append(places, at)
			}
		}
		more := ""
		if n := len(places); n > shownCites {
			places, more = places[:shownCites], fmt.Sprintf(" and %d places more", n-shownCites)
		}
		fmt.Fprintf(&b, "- `%s`, which cites %s%s\n", page.Path, strings.Join(places, ", "), more)
	}
	var left []string
	for _, page := range p.Pages {
		if why, ok := d.None[page.Path]; ok {
			left = append(left, fmt.Sprintf("no page %q: %s", page.Title, why))
		}
	}
	if left = append(left, p.Notes...); len(left) > 0 {
		b.WriteString("\n## What was left out\n\n")
		for _, n := range left {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	b.WriteString("\n## How to check\n\nEach statement was held by program against the lines that it cites: its names, numbers and words occur there. " +
		"Whether it follows from them is for a reader: open the places above at that commit.\n\n## How to go back\n\n" +
		"- Before it is merged: close this pull request and delete its branch. Nothing else was changed.\n" +
		"- Afterwards: `git revert -m 1 <merge commit>`, or `git revert <commit>` where it was squashed.\n")
	const limit = 60_000 // of forges
	text := b.String()
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "\n\n(Shortened: the list is too long for a pull request.)\n"
	}
	return []byte(text)
}
