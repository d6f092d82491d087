package main

import (
	"archive/zip"
	"io"
	"path"
	"time"
)

// zip writes the tree under a prefix, as Windows opens archives.
func (t Tree) zip(w io.Writer, prefix string, date time.Time) error {
	out := zip.NewWriter(w)
	for _, f := range t {
		h := &zip.FileHeader{Name: path.Join(prefix, f.Path), Method: zip.Deflate, Modified: date.UTC()}
		h.SetMode(f.Mode)
		entry, err := out.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.Data); err != nil {
			return err
		}
	}
	return out.Close()
}
