package session

import (
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/fault"
)

// Stays refuses a path of the project that leads out of it: a repository must not choose
// what is written elsewhere. What the user names outside is the user's will.
func Stays(project, path, hint string) error {
	if !inside(project, path) {
		return nil
	}
	at, rest := path, ""
	for {
		_, err := os.Lstat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
	real, err := filepath.EvalSymlinks(at)
	if err == nil && inside(project, filepath.Join(real, rest)) {
		return nil
	}
	return fault.New(fault.Denied, "%s is a link that leads out of the project", path).WithHint("%s", hint)
}

func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
