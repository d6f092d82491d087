package runner

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// CheckPaths looks at where was written, and what: only allowed paths, plain files, their
// modes as they were. It needs Tree, Changes and Allowed.
func CheckPaths(s *CheckSite) []Finding {
	var out findings
	for _, pattern := range s.Allowed {
		if !doublestar.ValidatePattern(pattern) {
			out.add(Blocker, "PATH_PATTERN", "", 0, fmt.Sprintf("allowed path %.200q is not a pattern: write one like src/**", pattern), "")
		}
	}
	for _, c := range s.Changes {
		names := []string{c.Path}
		if c.From != "" {
			names = append(names, c.From) // it is gone from there
		}
		for _, name := range names {
			s.place(&out, name)
		}
		s.mode(&out, c)
	}
	s.clashes(&out)
	return out.sorted()
}

// place looks at the name of a path.
func (s *CheckSite) place(out *findings, p string) {
	if why := unsafePath(p); why != "" {
		out.add(Blocker, "PATH_UNSAFE", p, 0, fmt.Sprintf("%.300q %s: change nothing there", p, why), "undo the change")
		return
	}
	for _, pattern := range s.Allowed {
		if ok, err := doublestar.Match(pattern, p); err == nil && ok {
			return
		}
	}
	out.add(Blocker, "PATH_OUTSIDE", p, 0, fmt.Sprintf("the file may not be changed, only %s: undo the change", strings.Join(s.Allowed, ", ")), "undo the change, or write the file where it is allowed")
}

// unsafePath returns what is wrong with a path, whatever is allowed.
func unsafePath(p string) string {
	switch {
	case p == "":
		return "is not a path"
	case strings.HasPrefix(p, "/") || len(p) > 1 && p[1] == ':':
		return "is absolute"
	case strings.Contains(p, `\`):
		return "has a backslash, which is a separator elsewhere"
	case !fs.ValidPath(p):
		return "leaves the tree, or is not written plainly"
	}
	for _, r := range p {
		if unicode.IsControl(r) || r == '\uFFFD' || unicode.Is(unicode.Cf, r) {
			return "has an invisible character"
		}
	}
	for name := range strings.SplitSeq(p, "/") {
		lower := strings.ToLower(strings.TrimRight(name, ". "))
		stem, _, _ := strings.Cut(lower, ".")
		switch {
		case lower == ".git" || lower == "git~1":
			return "is git's own"
		case lower == ".gitmodules":
			return "names other repositories"
		case strings.ContainsAny(name, `:*?"<>|`) || lower != strings.ToLower(name) || isReservedName(stem):
			return "cannot be a name on Windows"
		}
	}
	return ""
}

func isReservedName(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) && stem[3] >= '0' && stem[3] <= '9'
}

// mode looks at what a file is, by the patch and in the tree.
func (s *CheckSite) mode(out *findings, c FileChange) {
	switch {
	case c.NewMode == "120000":
		out.add(Blocker, "PATH_SYMLINK", c.Path, 0, "the file is a symbolic link: write a plain file", "")
	case c.NewMode == "160000":
		out.add(Blocker, "PATH_SUBMODULE", c.Path, 0, "the path is another repository: leave it as it was", "undo the change")
	case c.OldMode != "" && c.NewMode != "" && c.OldMode != c.NewMode:
		out.add(Error, "PATH_MODE", c.Path, 0, fmt.Sprintf("the mode of the file was changed from %s to %s: leave it as it was", c.OldMode, c.NewMode), "")
	case c.OldMode == "" && c.NewMode != "" && c.NewMode != "100644":
		out.add(Error, "PATH_MODE", c.Path, 0, fmt.Sprintf("the new file has mode %s: pages are not executable, make it 100644", c.NewMode), "")
	case c.Deleted:
		out.add(Warn, "PATH_DELETED", c.Path, 0, "the file was removed: make sure that nothing else needs it", "")
		return
	}
	if c.Deleted || !fs.ValidPath(c.Path) {
		return
	}
	// On the way there, too: what is below a link is somewhere else.
	for p := c.Path; p != "."; p = path.Dir(p) {
		switch s.kind(p) {
		case link:
			if c.NewMode != "120000" || p != c.Path {
				out.add(Blocker, "PATH_SYMLINK", c.Path, 0, fmt.Sprintf("%s is a symbolic link: write a plain file", p), "")
			}
			return
		case strange:
			out.add(Blocker, "PATH_NO_FILE", c.Path, 0, fmt.Sprintf("%s is neither file nor folder: remove it", p), "")
			return
		}
	}
	if s.kind(c.Path) == nothing {
		out.add(Error, "PATH_MISSING", c.Path, 0, "the patch has this file and the tree does not: apply the patches again", "")
	}
}

// clashes looks for names in one folder that differ in capital letters only: a checkout
// on macOS or Windows would have one of them.
func (s *CheckSite) clashes(out *findings) {
	seen := map[string]bool{}
	for _, c := range s.Changes {
		if c.Deleted || !fs.ValidPath(c.Path) {
			continue
		}
		for p := c.Path; p != "."; p = path.Dir(p) {
			if seen[p] {
				break
			}
			seen[p] = true
			for other := range s.entries(path.Dir(p)) {
				if at := path.Join(path.Dir(p), other); other != path.Base(p) && strings.EqualFold(other, path.Base(p)) {
					out.add(Error, "PATH_CASE_CLASH", c.Path, 0, fmt.Sprintf("%s and %s differ in capital letters only: use one of the names", p, at), "")
				}
			}
		}
	}
}
