package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"slices"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/fault"
)

const (
	fileLimit = 200_000
	headLimit = 8 << 10 // what is looked at to tell what a file is
)

// Inventory lists every file of the tree by its path. Folders named .git are left out. A
// symbolic link is listed with the hash of where it points, as role other, and not followed;
// what is neither file nor link is left out. Files are hashed by streaming.
func Inventory(fsys fs.FS, commit string) (docs.Inventory, error) {
	inv := docs.Inventory{Commit: commit, Files: []docs.File{}}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		f, ok, err := inspect(fsys, path, d)
		if err != nil || !ok {
			return err
		}
		if inv.Files = append(inv.Files, f); len(inv.Files) > fileLimit {
			return fault.New(fault.BudgetExceeded, "list the repository: it has more than %d files", fileLimit).
				WithHint("documentation is written for one project: give a smaller repository")
		}
		return nil
	})
	if err != nil {
		if _, ok := fault.Of(err); ok {
			return docs.Inventory{}, err
		}
		return docs.Inventory{}, fault.New(fault.StorageIO, "list the repository: %w", err)
	}
	slices.SortFunc(inv.Files, func(a, b docs.File) int { return strings.Compare(a.Path, b.Path) })
	return inv, nil
}

// inspect hashes one file and tells what it is.
func inspect(fsys fs.FS, path string, d fs.DirEntry) (docs.File, bool, error) {
	f := docs.File{Path: path, Role: "other"}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(fsys, path)
		if err != nil {
			target = "" // a file system that cannot tell: the link is listed all the same
		}
		sum := sha256.Sum256([]byte(target))
		f.Size, f.SHA256 = int64(len(target)), hex.EncodeToString(sum[:])
		return f, true, nil
	}
	if !d.Type().IsRegular() {
		return f, false, nil
	}
	r, err := fsys.Open(path)
	if err != nil {
		return f, false, err
	}
	defer r.Close()
	head := make([]byte, headLimit)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return f, false, err
	}
	head = head[:n]
	hash := sha256.New()
	hash.Write(head)
	rest, err := io.Copy(hash, r)
	if err != nil {
		return f, false, err
	}
	f.Size, f.SHA256 = int64(n)+rest, hex.EncodeToString(hash.Sum(nil))
	f.Language, f.Role = classify(path, head)
	return f, true, nil
}
