package facts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"ramet/internal/docs"
	"ramet/internal/fault"
)

// hands is how many files are read at the same time.
const hands = 2

// tree is what the finders of claims see: the inventory, and the files that can be read.
type tree struct {
	fsys    fs.FS
	inv     docs.Inventory
	files   map[string]docs.File
	mu      sync.Mutex
	sources map[string]*source // manifests and texts, which several finders ask for; mu
	broken  error              // the first reason not to trust the tree; mu
}

// Extract finds the claims. The inventory must be of the same tree: a file that differs from
// it is an error, because its evidence would be worth nothing. Name is the project's; if it
// is empty, a manifest or the README gives it.
func Extract(fsys fs.FS, inv docs.Inventory, name string) (docs.Facts, error) {
	t := &tree{fsys: fsys, inv: inv, files: map[string]docs.File{}, sources: map[string]*source{}}
	for _, f := range inv.Files {
		t.files[f.Path] = f
	}
	projects := t.projects()
	var claims []*claim
	for _, find := range []func([]*project) []*claim{
		t.manifestClaims, t.licences, t.readmes, t.conventions,
		t.goClaims, t.pythonClaims, t.scriptClaims, t.rustClaims, t.exampleFiles,
	} {
		claims = append(claims, find(projects)...)
	}
	if t.broken != nil {
		return docs.Facts{}, t.broken
	}
	facts := docs.Facts{Name: name, Commit: inv.Commit, Languages: t.languages(), Claims: settle(claims)}
	if facts.Name == "" {
		facts.Name = t.nameOf(projects)
	}
	return facts, nil
}

// read gives a file of the inventory, or nil where it is too big, binary or a link.
func (t *tree) read(name string) *source {
	t.mu.Lock()
	s, known := t.sources[name]
	t.mu.Unlock()
	if known {
		return s
	}
	f, listed := t.files[name]
	if !listed || f.Role == "other" && f.Language == "" && f.Size > 1<<16 || f.Size > parseLimit {
		return nil
	}
	data, err := readPlain(t.fsys, name, parseLimit)
	if err != nil {
		if f.Role == "other" { // a link
			return nil
		}
		t.distrust(fault.New(fault.StorageIO, "read %s: %w", name, err))
		return nil
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		t.distrust(fault.New(fault.Conflict, "read %s: it has changed since the inventory", name).
			WithHint("take the inventory again"))
		return nil
	}
	s = newSource(name, data)
	if f.Role == "manifest" || f.Role == "readme" || f.Role == "build" {
		t.mu.Lock()
		t.sources[name] = s
		t.mu.Unlock()
	}
	return s
}

func (t *tree) distrust(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = cmp.Or(t.broken, err)
}

// each runs work for all names, a few at a time, and gives the results in order. A panic in
// the work (which would be a bug of a parser) costs the claims of that file only.
func each[T any](names []string, work func(string) T) []T {
	out := make([]T, len(names))
	next := make(chan int)
	var wg sync.WaitGroup
	for range hands {
		wg.Go(func() {
			for i := range next {
				func() {
					defer func() {
						if recover() != nil {
							var none T
							out[i] = none
						}
					}()
					out[i] = work(names[i])
				}()
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// pathsWith are the paths of files in the language and role.
func (t *tree) pathsWith(role string, languages ...string) []string {
	var out []string
	for _, f := range t.inv.Files {
		if f.Role == role && slices.Contains(languages, f.Language) {
			out = append(out, f.Path)
		}
	}
	return out
}

// languages counts source files.
func (t *tree) languages() []string {
	count := map[string]int{}
	for _, f := range t.inv.Files {
		if f.Role == "source" && f.Language != "" {
			count[f.Language]++
		}
	}
	out := slices.SortedFunc(mapsKeys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return append([]string{}, out...)
}

// inExamples says whether a path lies in a folder of examples.
func inExamples(p string) bool { return inDir(path.Dir(p)+"/", exampleDirs) }

func (t *tree) nameOf(projects []*project) string {
	for _, p := range projects {
		if p.dir == "." && p.name != "" {
			return lastPart(p.name)
		}
	}
	for _, name := range t.readmeNames(".") {
		if title := t.readmeTitle(name); title != "" {
			return title
		}
	}
	if len(projects) > 0 && projects[0].name != "" {
		return lastPart(projects[0].name)
	}
	return "project"
}

// lastPart is the name in an import path: without host, owner and major version.
func lastPart(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	return last
}
