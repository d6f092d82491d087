package sandbox

import "path/filepath"

// RealPath returns a path without links, as far as it exists.
func RealPath(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			rest, err := filepath.Rel(dir, path)
			if err != nil {
				return path
			}
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}
