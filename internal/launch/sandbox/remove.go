package sandbox

import (
	"os"
	"path/filepath"
)

// RemoveAll removes a folder, also where a command closed folders in it. It follows no link, and what cannot be
// removed stays.
func RemoveAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		openAll(root)
		root.Close()
	}
	os.RemoveAll(dir)
}

// openAll lets us into all folders below one. It follows no link.
func openAll(root *os.Root) {
	var walk func(path string)
	walk = func(path string) {
		root.Chmod(path, 0o700)
		dir, err := root.Open(path)
		if err != nil {
			return
		}
		entries, _ := dir.ReadDir(-1)
		dir.Close()
		for _, e := range entries {
			if e.IsDir() {
				walk(filepath.Join(path, e.Name()))
			}
		}
	}
	walk(".")
}
