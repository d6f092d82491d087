package runner

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"ramet/internal/base/secret"
	"ramet/internal/run/recipe"
)

// Finding is something that a gate found.
type Finding struct {
	Severity Severity
	Code     string // SCREAMING_SNAKE
	Message  string // what is wrong, and what to do
	File     string // in the written tree; empty: it is about something else
	Line     int    // 0: none
	Fix      string // a suggestion; may be empty
}

// CheckSite is the input of gates. Each gate documents the parts that it needs.
type CheckSite struct {
	Tree    fs.FS         // the written tree
	Changes []FileChange  // what differs from the base
	Allowed []string      // patterns of paths that may be changed, with ** for folders
	Limits  recipe.Limits // Files and LinesPerFile count

	// Secrets finds secrets in a text; nil: nothing is looked for.
	Secrets func(text string) []secret.Found
	// Texts are other texts that are published, by name: the body of the pull request.
	Texts map[string]string

	cache *cache
}

// CheckGates are the built-in gates by name.
var CheckGates = map[string]func(*CheckSite) []Finding{
	"markdown": CheckMarkdown,
	"links":    CheckLinks,
	"secrets":  CheckSecrets,
	"paths":    CheckPaths,
	"limits":   CheckSize,
}

// findings collects what a gate finds.
type findings []Finding

func (f *findings) add(s Severity, code, file string, line int, message, fix string) {
	*f = append(*f, Finding{Severity: s, Code: code, File: file, Line: line, Message: message, Fix: fix})
}

// sorted puts findings in order and leaves out repetitions.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact([]Finding(f))
}

// changed are the paths of files that were made or changed and are there.
func (s *CheckSite) changed() []string {
	var out []string
	for _, c := range s.Changes {
		if !c.Deleted && fs.ValidPath(c.Path) && s.kind(c.Path) == file {
			out = append(out, c.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pages are those of them that are Markdown.
func (s *CheckSite) pages() []string {
	return slices.DeleteFunc(s.changed(), func(p string) bool { return !isPage(p) })
}

func isPage(path string) bool {
	lower := strings.ToLower(path)
	return strings.HasSuffix(lower, ".md") || strings.HasSuffix(lower, ".markdown")
}

// added leaves out findings about lines that the patch did not add, and about whole pages that
// were there before.
func (s *CheckSite) added(found findings) findings {
	return slices.DeleteFunc(found, func(f Finding) bool {
		return slices.ContainsFunc(s.Changes, func(c FileChange) bool { return c.Path == f.File && c.OldMode != "" && !c.Added[f.Line] })
	})
}

// isNew reports whether the patch made a file.
func (s *CheckSite) isNew(p string) bool {
	return slices.ContainsFunc(s.Changes, func(c FileChange) bool { return c.Path == p && c.OldMode == "" })
}
