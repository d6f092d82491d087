package docs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Repository is the text of a repository at one commit.
type Repository struct {
	fsys  fs.FS
	Files []string        // that are text and its own, sorted
	known map[string]bool // those files
	texts map[string][]string
	stems map[string]bool
}

const (
	maxFile = 1 << 20
	maxText = 256 << 20
)

// foreign are folders whose text is not the repository's own, and that are no evidence.
var foreign = []string{".git", "node_modules", "vendor", "third_party", "bower_components", "site-packages"}

// ForeignPath reports whether a file is not the repository's own.
func ForeignPath(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(foreign, part) {
			return true
		}
	}
	base := path.Base(name)
	return strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".lock") || base == "package-lock.json" || base == "pnpm-lock.yaml" || base == "go.sum"
}

// OpenRepository reads the texts of a repository. Links are not followed, and what we wrote ourselves
// (between our markers) is none of its text: nothing proves itself.
func OpenRepository(fsys fs.FS) (*Repository, error) {
	r := &Repository{fsys: fsys, known: map[string]bool{}, texts: map[string][]string{}, stems: map[string]bool{}}
	size := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(foreign, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || ForeignPath(name) {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxFile || size+int(info.Size()) > maxText {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if !utf8.Valid(data) || slices.Contains(data, 0) {
			return nil
		}
		size += len(data)
		r.Files, r.known[name] = append(r.Files, name), true
		for word := range words(strings.Join(theirLines(slices.Collect(strings.Lines(string(data)))), "")) {
			r.stems[StemWord(word)] = true
		}
		return nil
	})
	return r, err
}

// Markers of what is ours in a page.
const (
	beginMark = "<!-- ramet:begin "
	endMark   = "<!-- ramet:end "
	rstMark   = ".. ramet:"
)

// theirLines returns lines of which those between our markers are empty.
func theirLines(lines []string) []string {
	out := slices.Clone(lines)
	ours := false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		begins := strings.HasPrefix(bare, beginMark) || strings.HasPrefix(bare, rstMark+"begin ")
		ends := strings.HasPrefix(bare, endMark) || strings.HasPrefix(bare, rstMark+"end ")
		if ours = ours || begins; ours || ends {
			out[i] = ""
		}
		ours = ours && !ends
	}
	return out
}

// Has reports whether a file is one of the repository's own texts.
func (r *Repository) Has(name string) bool { return r.known[name] }

// Text is a whole file.
func (r *Repository) Text(name string) string { return strings.Join(r.all(name), "") }

func (r *Repository) all(name string) []string {
	if lines, ok := r.texts[name]; ok {
		return lines
	}
	if !r.known[name] {
		return nil
	}
	data, err := fs.ReadFile(r.fsys, name)
	if err != nil {
		return nil
	}
	lines := slices.Collect(strings.Lines(string(data)))
	r.texts[name] = lines
	return lines
}

// Line is the first line of a citation; empty if there is none.
func (r *Repository) Line(c Cite) string {
	if lines, ok := r.lines(c); ok {
		return lines[0]
	}
	return ""
}

// lines are those of a citation, with their ends.
func (r *Repository) lines(c Cite) ([]string, bool) {
	all := r.all(c.File)
	if c.From < 1 || c.To < c.From || c.To > len(all) {
		return nil, false
	}
	return all[c.From-1 : c.To], true
}

// proves are the lines of a citation that count: what we wrote ourselves proves nothing.
func (r *Repository) proves(c Cite) []string {
	if _, ok := r.lines(c); !ok {
		return nil
	}
	return theirLines(r.all(c.File))[c.From-1 : c.To]
}
