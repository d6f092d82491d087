package vendors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source is a module whose test data holds recordings.
type Source struct{ Path, Version string }

// Sources are the modules that are read. The older version of the same module
// has recordings of its own: they were made anew between the two.
var Sources = []Source{
	{"charm.land/fantasy", "v0.42.0"},
	{"charm.land/fantasy", "v0.12.2"},
}

// Dir is where the module cache keeps the source; it is fetched if it is not
// there yet.
func (s Source) Dir() (string, error) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("find the module cache: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(cache)), s.Path+"@"+s.Version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	cmd := exec.Command("go", "mod", "download", "-json", s.Path+"@"+s.Version)
	cmd.Dir = os.TempDir()
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if json.Unmarshal(out, &got); got.Dir == "" {
		return "", fmt.Errorf("fetch %s@%s: %v %s", s.Path, s.Version, err, got.Error)
	}
	return got.Dir, nil
}

// Cassettes are the files of a source that hold recordings, relative to Dir.
func Cassettes(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") && strings.Contains(path, "/testdata/") {
			out = append(out, path)
		}
		return err
	})
	return out, err
}
