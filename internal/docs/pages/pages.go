// Package pages makes the pages that are published out of drafts.
//
// # Promises
//
//   - Markers are taken out, and nothing else: no word of a draft is lost, and what is
//     code stays as it is (Strip).
//   - Links are added where a page lacks them, and only to pages that exist; what was
//     there is kept (Link). Doing it again changes nothing.
//   - The same drafts give the same bytes. There is no time and no id of a run in them.
//
// # Markers
//
// A marker is a comment of HTML on one line, with one claim or several:
//
//	<!-- claim: go.func.parse -->
//	<!-- claim: go.func.parse, go.func.format -->
//
// It belongs to the line that it stands on. Alone on a line it belongs to the text above
// it, and if there is none, to the text below.
package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"ramet/internal/docs"
)

// Problem is something in a draft that has to be mended.
type Problem struct {
	Path    string // of the page; empty where only one is looked at
	Line    int
	Message string
}

// Composed are pages as they are published.
type Composed struct {
	Pages     map[string][]byte // by path; all that were given
	Citations docs.Citations    // of the pages of the plan
	Problems  []Problem         // by path and line
}

// Compose makes pages of drafts: markers become citations, and links are added. Pages
// that are not of the plan may be among the drafts; their markers are problems.
func Compose(drafts map[string][]byte, plan docs.Plan) Composed {
	sections := map[string]string{}
	for _, s := range plan.Sections {
		for _, p := range s.Pages {
			sections[p.Path] = s.Name
		}
	}
	var out Composed
	clean := map[string][]byte{}
	cites := map[string][]docs.CiteAt{}
	for _, path := range slices.Sorted(maps.Keys(drafts)) {
		page, found, bad := Strip(drafts[path])
		clean[path], cites[path] = page, found
		for _, p := range bad {
			p.Path = path
			out.Problems = append(out.Problems, p)
		}
		if _, planned := sections[path]; !planned && len(found) > 0 {
			out.Problems = append(out.Problems, Problem{Path: path, Line: found[0].Line, Message: "a claim is cited on a page that is not in the plan: leave the marker out"})
		}
	}
	pages, added := Link(clean, plan)
	out.Pages = pages
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		section, planned := sections[path]
		if !planned {
			continue
		}
		sum := sha256.Sum256(pages[path])
		at := docs.Cited{Path: path, Section: section, SHA256: hex.EncodeToString(sum[:]), Claims: []docs.CiteAt{}}
		for _, c := range cites[path] {
			c.Line = shifted(path, c.Line, added)
			at.Claims = append(at.Claims, c)
		}
		out.Citations.Pages = append(out.Citations.Pages, at)
	}
	if out.Citations.Pages == nil {
		out.Citations.Pages = []docs.Cited{}
	}
	return out
}

// shifted is where a line is after lines were added.
func shifted(path string, line int, added []Insert) int {
	for _, in := range added {
		if in.Path == path && in.After < line {
			line += in.Count
		}
	}
	return line
}
