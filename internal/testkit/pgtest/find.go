package pgtest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
)

// installed matches the folders in which Debian keeps the binaries of each major version; they are not on the PATH.
const installed = "/usr/lib/postgresql/*/bin"

var errNotInstalled = errors.New("PostgreSQL is not installed: apt-get install postgresql, or set " +
	Env + " to the postgres:// URL of a server")

// find returns the folder with initdb and postgres: the highest version that
// matches the pattern, else the one on the PATH.
func find(pattern string) (string, error) {
	best, highest := "", -1.0
	folders, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	for _, bin := range folders {
		version, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64) // 15, or 9.6
		if err == nil && version > highest && runnable(filepath.Join(bin, "initdb")) && runnable(filepath.Join(bin, "postgres")) {
			best, highest = bin, version
		}
	}
	if best != "" {
		return best, nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNotInstalled
	}
	// The two belong together: a link to one leads to the folder of both.
	initdb, err = filepath.EvalSymlinks(initdb)
	if bin := filepath.Dir(initdb); err == nil && runnable(filepath.Join(bin, "postgres")) {
		return bin, nil
	}
	return "", errNotInstalled
}

func runnable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
