package config

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"

	"ramet/internal/fault"
)

// Fingerprint identifies the files of a folder, in lower-case hexadecimal:
//
//	SHA-256("ramet trust 1\n" || for each file that exists, in byte order of
//	its path: SHA-256(path) || SHA-256(content))
//
// Paths are relative, clean and with slashes; each counts once. A file that is
// missing adds nothing, so a longer list of missing files changes nothing.
func Fingerprint(dir string, files []string) (string, error) {
	paths := make([]string, 0, len(files))
	for _, f := range files {
		if !filepath.IsLocal(f) {
			return "", fault.New(fault.InvalidConfig, "trust %s: %q is outside", dir, f)
		}
		paths = append(paths, filepath.ToSlash(filepath.Clean(f)))
	}
	slices.Sort(paths)
	whole := sha256.New()
	io.WriteString(whole, "ramet trust 1\n")
	for _, p := range slices.Compact(paths) {
		content, err := hashFile(filepath.Join(dir, filepath.FromSlash(p)))
		if missing(err) {
			continue
		}
		if err != nil {
			return "", fault.New(fault.Untrusted, "trust %s: %w", dir, err)
		}
		name := sha256.Sum256([]byte(p))
		whole.Write(name[:])
		whole.Write(content)
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

func hashFile(path string) ([]byte, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
