package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ramet/internal/base/fault"
)

// maxLinks limits how many symbolic links one path may lead through, as the kernel does.
const maxLinks = 40

// WritableFolder returns the real path of a folder that a program may write. It follows links that
// the user made, such as a home that lies elsewhere. It refuses a symbolic link that lies below one
// of the folders within, which agents write: a confined command could have put it there to have the
// user's home as its folder the next time. That is DENIED, and a missing folder NOT_FOUND.
func WritableFolder(dir string, within ...string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
	}
	for _, w := range slices.Clone(within) {
		if real, err := filepath.EvalSymlinks(w); err == nil {
			within = append(within, real)
		}
	}
	split := func(path string) []string {
		return strings.FieldsFunc(path, func(r rune) bool { return os.IsPathSeparator(uint8(r)) })
	}
	root := filepath.VolumeName(abs) + string(filepath.Separator)
	at, rest := root, split(abs[len(filepath.VolumeName(abs)):])
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err == nil && links > maxLinks {
			err = syscall.ELOOP
		}
		if err != nil {
			return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		if slices.ContainsFunc(within, func(w string) bool { return containsPath(w, at) }) {
			return "", fault.New(fault.Denied, "%s is a symbolic link in a folder that agents write, and is not followed", next).
				WithHint("look where it leads; remove it, or name the folder itself")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
		}
		if filepath.IsAbs(target) {
			at, target = root, target[len(filepath.VolumeName(target)):]
		}
		links++
		rest = append(split(target), rest...)
	}
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return "", fault.New(fault.NotFound, "%s is not a folder", dir)
	}
	return at, nil
}

// containsPath reports whether path is the folder dir or lies below it.
func containsPath(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
