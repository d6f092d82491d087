package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/seal"
)

// check holds the files in a folder against its signed checksums: the note must be of the
// key, and each file that is there as it says. It returns how many were. Nobody downloads
// all of a release, so one that is missing is nothing wrong; none at all is.
func check(dir, verifier string) (int, error) {
	note, err := os.ReadFile(filepath.Join(dir, sums+".note"))
	if err != nil {
		return 0, err
	}
	list, err := seal.Open(note, verifier)
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(list, "\n"), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || name != filepath.Base(name) {
			return n, fmt.Errorf("%q is no checksum", line)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return n, err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != sum {
			return n, fmt.Errorf("%s is not what was released: its SHA-256 is %s, not %s", name, got, sum)
		}
		n++
	}
	if n == 0 {
		return 0, fmt.Errorf("no file of the release is in %s", dir)
	}
	return n, nil
}
