package runner

import (
	"bytes"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

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
		{"index ", r.index},
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

// index is "abc..def" and the mode where it stays.
func (r *reader) index(v string) error {
	_, mode, _ := strings.Cut(v, " ")
	if mode != "" {
		r.now.OldMode, r.now.NewMode = mode, mode
	}
	return nil
}

// side is the name above the first hunk. It is the surest of all, and must agree.
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
