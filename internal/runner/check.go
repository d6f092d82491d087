package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"ramet/internal/base/fault"
	"ramet/internal/base/markdown"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
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

// kind of the entry at a path.
type kind int

const (
	nothing kind = iota
	file
	folder
	link    // symbolic
	strange // a device, a pipe
)

// cache remembers the folders and pages of a site. Names are compared as they are written, also
// where the file system takes capital letters for small ones.
type cache struct {
	folders map[string]map[string]kind
	pages   map[string]*markdown.Page
}

func (s *CheckSite) remember() *cache {
	if s.cache == nil {
		s.cache = &cache{folders: map[string]map[string]kind{}, pages: map[string]*markdown.Page{}}
	}
	return s.cache
}

// entries returns the names in a folder of the tree.
func (s *CheckSite) entries(dir string) map[string]kind {
	c := s.remember()
	if names, ok := c.folders[dir]; ok {
		return names
	}
	names := map[string]kind{}
	if list, err := fs.ReadDir(s.Tree, dir); err == nil {
		for _, e := range list {
			switch t := e.Type(); {
			case t.IsRegular():
				names[e.Name()] = file
			case t.IsDir():
				names[e.Name()] = folder
			case t&fs.ModeSymlink != 0:
				names[e.Name()] = link
			default:
				names[e.Name()] = strange
			}
		}
	}
	c.folders[dir] = names
	return names
}

// kind returns the kind of a path of the tree. Symbolic links are not followed, so that
// what lies below one is nothing.
func (s *CheckSite) kind(p string) kind {
	if p == "." {
		return folder
	}
	if !fs.ValidPath(p) {
		return nothing
	}
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	if s.kind(dir) != folder {
		return nothing
	}
	return s.entries(dir)[name]
}

// page reads a page of the tree once; nil where it cannot be read.
func (s *CheckSite) page(p string) *markdown.Page {
	c := s.remember()
	if page, ok := c.pages[p]; ok {
		return page
	}
	var page *markdown.Page
	if s.kind(p) == file {
		if data, err := fs.ReadFile(s.Tree, p); err == nil {
			page, _ = markdown.Parse(data)
		}
	}
	c.pages[p] = page
	return page
}

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
		case strings.ContainsAny(name, `:*?"<>|`) || lower != strings.ToLower(name) || reservedName().MatchString(stem):
			return "cannot be a name on Windows"
		}
	}
	return ""
}

var reservedName = text.Regexp(`^(?:con|prn|aux|nul|(?:com|lpt)[0-9])$`)

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

// CheckSecrets looks for secrets in the files that were changed and in the other texts that
// are published. What only looks random is a warning: texts are full of hashes.
// It needs Tree, Changes and Secrets.
func CheckSecrets(s *CheckSite) []Finding {
	var out findings
	look := func(name, of, text string) {
		for _, found := range s.Secrets(text) {
			if found.Sure {
				out.add(Blocker, "SECRET", name, found.Line, of+fmt.Sprintf("this looks like a secret (%s): take it out, and write a placeholder such as YOUR_TOKEN", found.Name), "replace it by a placeholder; if it is real, revoke it")
			} else {
				out.add(Warn, "SECRET_MAYBE", name, found.Line, of+fmt.Sprintf("this might be a secret (%s): look at it, and write a placeholder if it is", found.Name), "")
			}
		}
	}
	if s.Secrets == nil {
		return nil
	}
	for _, p := range s.changed() {
		data, err := fs.ReadFile(s.Tree, p)
		if err != nil {
			out.add(Error, "FILE_UNREADABLE", p, 0, "the file cannot be read, so it may contain a secret: write it again", "")
			continue
		}
		look(p, "", string(data))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Texts)) {
		look("", name+": ", s.Texts[name])
	}
	return out.sorted()
}

// CheckSize looks at how much was changed. It needs Tree, Changes and Limits.
func CheckSize(s *CheckSite) []Finding {
	var out findings
	if max := s.Limits.Files; max > 0 && len(s.Changes) > max {
		out.add(Error, "LIMIT_FILES", "", 0, fmt.Sprintf("more than %d files were changed: change fewer, or raise the limit", max), "")
	}
	if s.Limits.LinesPerFile <= 0 {
		return out.sorted()
	}
	for _, p := range s.changed() {
		data, err := fs.ReadFile(s.Tree, p)
		if err != nil {
			out.add(Error, "FILE_UNREADABLE", p, 0, "the file cannot be read: write it again", "")
			continue
		}
		lines := bytes.Count(data, []byte("\n"))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		if lines > s.Limits.LinesPerFile {
			out.add(Error, "LIMIT_LINES", p, 0, fmt.Sprintf("the file has more than %d lines: shorten it, or split it into several", s.Limits.LinesPerFile), "")
		}
	}
	return out.sorted()
}

// FileChange is one file of a patch.
type FileChange struct {
	Path    string // after the change; of a file that was removed, before
	From    string // before, where it was renamed or copied
	OldMode string // as git writes it; empty: it was not there
	NewMode string // empty: it is not there
	Deleted bool
	Added   map[int]bool // lines that were not there before
}

// CheckChanges reads which files a patch of git changes.
func CheckChanges(patch []byte) ([]FileChange, error) {
	r := reader{}
	number := 0
	for line := range bytes.Lines(patch) {
		number++
		if err := r.line(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")); err != nil {
			return nil, fault.New(fault.InvalidText, "read patch: line %d: %w", number, err).WithHint("make the patch again, with git diff")
		}
	}
	r.finish()
	if len(r.out) == 0 && len(bytes.TrimSpace(patch)) > 0 {
		return nil, fault.New(fault.InvalidText, "read patch: it names no file").WithHint("make the patch again, with git diff")
	}
	return r.out, nil
}

// reader goes through a patch. A line of a hunk begins with a sign, so that nothing in a
// file can look like a header; but within a hunk "--- x" is a line that was removed.
type reader struct {
	out      []FileChange
	now      *FileChange
	old, new int // lines that are left of a hunk
	at       int // the line of the file that comes next
	binary   bool
}

func (r *reader) finish() {
	if r.now == nil {
		return
	}
	if r.now.NewMode == "" && !r.now.Deleted {
		r.now.NewMode = r.now.OldMode
	}
	r.out = append(r.out, *r.now)
	r.now = nil
}

func (r *reader) line(s string) error {
	if r.old > 0 || r.new > 0 {
		switch {
		case strings.HasPrefix(s, "+"):
			r.new--
			r.now.Added[r.at] = true
			r.at++
		case strings.HasPrefix(s, "-"):
			r.old--
		case strings.HasPrefix(s, " "), s == "":
			r.old--
			r.new--
			r.at++
		case strings.HasPrefix(s, `\`):
		default:
			return fault.New(fault.InvalidText, "a hunk ends early")
		}
		if r.old < 0 || r.new < 0 {
			return fault.New(fault.InvalidText, "a hunk has more lines than it says")
		}
		return nil
	}
	key, value, _ := strings.Cut(s, " ")
	switch {
	case strings.HasPrefix(s, "diff --git "):
		r.finish()
		r.binary = false
		path, err := samePath(strings.TrimPrefix(s, "diff --git "))
		if err != nil {
			return err
		}
		r.now = &FileChange{Path: path, OldMode: "100644", Added: map[int]bool{}}
		return nil
	case r.now == nil:
		return nil // what stands before the first file: a letter, a summary
	case r.binary:
		return nil
	case key == "@@":
		return r.hunk(value)
	case s == "GIT binary patch" || strings.HasPrefix(s, "Binary files "):
		r.binary = true
	}
	return r.header(s)
}

func (r *reader) header(s string) error {
	for _, h := range []struct {
		prefix string
		set    func(string) error
	}{
		{"old mode ", r.mode(&r.now.OldMode)},
		{"new mode ", r.mode(&r.now.NewMode)},
		{"new file mode ", func(v string) error { r.now.OldMode, r.now.NewMode = "", v; return nil }},
		{"deleted file mode ", func(v string) error { r.now.OldMode, r.now.NewMode, r.now.Deleted = v, "", true; return nil }},
		{"rename from ", r.name(&r.now.From)},
		{"copy from ", r.name(&r.now.From)},
		{"rename to ", r.name(&r.now.Path)},
		{"copy to ", r.name(&r.now.Path)},
		{"index ", func(v string) error { // abc..def, and the mode where it stays
			if _, mode, _ := strings.Cut(v, " "); mode != "" {
				r.now.OldMode, r.now.NewMode = mode, mode
			}
			return nil
		}},
		{"--- ", func(v string) error { return r.side(v, "a/", r.now.Deleted) }},
		{"+++ ", func(v string) error { return r.side(v, "b/", true) }},
	} {
		if v, ok := strings.CutPrefix(s, h.prefix); ok {
			return h.set(v)
		}
	}
	return nil
}

func (r *reader) mode(at *string) func(string) error {
	return func(v string) error { *at = v; return nil }
}

func (r *reader) name(at *string) func(string) error {
	return func(v string) (err error) { *at, err = unquoteName(v); return err }
}

// side returns the name above the first hunk. It is the surest of all, and must agree.
func (r *reader) side(v, prefix string, counts bool) error {
	v, _, _ = strings.Cut(v, "\t")
	path, err := unquoteName(v)
	if err != nil || path == "/dev/null" || !counts {
		return err
	}
	path, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return fault.New(fault.InvalidText, "%.200q is not below %s", v, prefix)
	}
	if r.now.Path != "" && r.now.Path != path {
		return fault.New(fault.InvalidText, "two names for one file: %.200q and %.200q", r.now.Path, path)
	}
	r.now.Path = path
	return nil
}

func (r *reader) hunk(s string) error {
	ranges := strings.Fields(s)
	if len(ranges) < 2 {
		return fault.New(fault.InvalidText, "a hunk without its lines")
	}
	for i, at := range []*int{&r.old, &r.new} {
		_, count, found := strings.Cut(ranges[i], ",")
		*at = 1
		if found {
			n, err := strconv.Atoi(count)
			if err != nil || n < 0 {
				return fault.New(fault.InvalidText, "a hunk of %.40q lines", count)
			}
			*at = n
		}
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(ranges[1], "+"), ",")
	r.at, _ = strconv.Atoi(first)
	return nil
}

// samePath returns the path in "a/x b/x", or "" if the two differ: then other lines name it.
func samePath(s string) (string, error) {
	if strings.HasPrefix(s, `"`) || strings.HasSuffix(s, `"`) {
		// Quoted: the second of the two is at the end, quoted or not.
		if i := strings.LastIndex(strings.TrimSuffix(s, `"`), ` "b/`); i >= 0 {
			path, err := unquoteName(s[i+1:])
			return strings.TrimPrefix(path, "b/"), err
		}
		return "", nil
	}
	if len(s)%2 == 1 {
		a, b := s[:len(s)/2], s[len(s)/2+1:]
		if s[len(s)/2] == ' ' && strings.TrimPrefix(a, "a/") == strings.TrimPrefix(b, "b/") {
			return strings.TrimPrefix(b, "b/"), nil
		}
	}
	return "", nil
}

// unquoteName reads a name as git writes it: in quotes with C's escapes where needed.
func unquoteName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	path, err := strconv.Unquote(s)
	if err != nil {
		return "", fault.New(fault.InvalidText, "a name that cannot be read: %.200q", s)
	}
	return path, nil
}
