package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/seal"
)

const sums = "SHA256SUMS"

// checksums lists every file of the release as sha256sum does, and signs the list as a
// note: `sha256sum -c` reads the first, `ramet verify`'s format of checkpoints the second.
func (r *Release) checksums(made string) error {
	entries, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(made, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if err := os.WriteFile(filepath.Join(made, sums), []byte(list.String()), 0o644); err != nil {
		return err
	}
	if r.KeyFile == "" {
		return nil
	}
	// A key that is not there is not made: the wrong path would sign with a key of nobody.
	if _, err := os.Stat(r.KeyFile); err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	key, err := seal.LoadKey(r.KeyFile)
	if err != nil {
		return err
	}
	note, err := key.Sign(list.String())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(made, sums+".note"), note, 0o644)
}
