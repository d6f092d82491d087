package runner

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
)

// fingerprintTree returns the state of every file below a folder: its kind, mode, size and
// content, and of git's own files the time instead of the content.
//
// Where the folder is that of a run, what the engine itself writes there is no part of it.
func fingerprintTree(ctx context.Context, folder string, run bool) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if run && filepath.Dir(path) == folder && !slices.Contains(madeFolders, e.Name()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		mark := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			mark += " " + to
		case info.Mode().IsRegular() && inGit(name):
			mark += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		case info.Mode().IsRegular():
			sum, err := gateHash(path)
			if err != nil {
				return err
			}
			mark += " " + sum
		}
		out[filepath.ToSlash(name)] = mark
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, durable.Failure("read folder", folder, err)
	}
	return out, nil
}

// madeFolders are the folders of a run that hold what its workers made.
var madeFolders = []string{"artifacts", "drafts", "reports", "work"}

func inGit(name string) bool {
	return strings.HasPrefix(filepath.ToSlash(name), ".git/")
}

func gateHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return string(sum.Sum(nil)), nil
}

// changedNames returns the names whose state is not the same, sorted.
func changedNames(before, after map[string]string) []string {
	var out []string
	for name, mark := range before {
		if after[name] != mark {
			out = append(out, name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
