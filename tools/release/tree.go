package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is one file of a tree; Path has no leading slash.
type File struct {
	Path string
	Mode fs.FileMode
	Data []byte
	Link string // what it points to; empty: it is no link
	Hard bool   // the link is another name of that file
	// Owned says that it is an empty folder, of the user of images.
	Owned bool
}

// Tree is what is installed, sorted by path.
type Tree []File

func (t Tree) sort() {
	slices.SortFunc(t, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// find returns the content of a file that is known to be there.
func (t Tree) find(path string) []byte {
	i := slices.IndexFunc(t, func(f File) bool { return f.Path == path })
	return t[i].Data
}

// folders are the folders of the tree under a prefix, parents first.
func (t Tree) folders(prefix string) []string {
	seen := map[string]bool{}
	for _, f := range t {
		for dir := path.Dir(path.Join(prefix, f.Path)); dir != "."; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	var all []string
	for dir := range seen {
		all = append(all, dir)
	}
	slices.Sort(all)
	return all
}

// tar writes the tree under a prefix: everything is root's and as old as date.
func (t Tree) tar(w io.Writer, prefix string, date time.Time) error {
	out := tar.NewWriter(w)
	for _, dir := range t.folders(prefix) {
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: date, Format: tar.FormatPAX})
		if err != nil {
			return err
		}
	}
	for _, f := range slices.Concat(t.that(func(f File) bool { return !f.Hard }), t.that(func(f File) bool { return f.Hard })) {
		if err := out.WriteHeader(f.header(prefix, date)); err != nil {
			return err
		}
		if _, err := out.Write(f.Data); err != nil {
			return err
		}
	}
	return out.Close()
}

func (t Tree) that(is func(File) bool) (out Tree) {
	for _, f := range t {
		if is(f) {
			out = append(out, f)
		}
	}
	return out
}

func (f File) header(prefix string, date time.Time) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(prefix, f.Path), Mode: int64(f.Mode.Perm()),
		Size: int64(len(f.Data)), ModTime: date, Format: tar.FormatPAX}
	switch {
	case f.Owned:
		h.Typeflag, h.Name, h.Uid, h.Gid = tar.TypeDir, h.Name+"/", nobody, nobody
		if f.Mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
	case f.Hard:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeLink, path.Join(prefix, f.Link), 0o777
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
	}
	return h
}

// nobody is the user of images.
const nobody = 65532

// write puts the tree into a folder of the machine.
func (t Tree) write(dir string) error {
	for _, f := range t {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// zipped compresses what write writes; no name and no time get into the header.
func zipped(w io.Writer, write func(io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// archive is the tree in one folder, compressed.
func (r *Release) archive(made, platform string, tree Tree) error {
	name := r.name(platform)
	if strings.HasPrefix(platform, "windows/") {
		return create(filepath.Join(made, name+".zip"), func(w io.Writer) error { return tree.zip(w, name, r.Stamp.Date) })
	}
	return create(filepath.Join(made, name+".tar.gz"), func(w io.Writer) error {
		return zipped(w, func(w io.Writer) error { return tree.tar(w, name, r.Stamp.Date) })
	})
}

// create makes a file of what write writes.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
