package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blakesmith/ar"
	"github.com/ulikunitz/xz"
)

// pinned is a package of Debian, by what it is.
type pinned struct{ Sum, Arch, Path string }

// debian is the list of packages that stand beside ramet in the image with git.
func debian() ([]pinned, error) {
	text, err := files.ReadFile("files/debian.txt")
	if err != nil {
		return nil, err
	}
	var all []pinned
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && !strings.HasPrefix(line, "#") {
			all = append(all, pinned{f[0], f[1], f[2]})
		}
	}
	return all, nil
}

// packagesOf is what a platform's packages hold, each as it was pinned.
func (r *Release) packagesOf(platform string) (Tree, error) {
	_, arch, _ := strings.Cut(platform, "/")
	list := r.Pinned
	if list == nil {
		var err error
		if list, err = debian(); err != nil {
			return nil, err
		}
	}
	var all Tree
	for _, p := range list {
		if p.Arch != arch {
			continue
		}
		data, err := r.get(p)
		if err != nil {
			return nil, err
		}
		tree, err := unpack(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(p.Path), err)
		}
		all = append(all, tree...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no package is pinned for %s", arch)
	}
	return all, nil
}

// get is a package, from the folder of those that were fetched before, or from the archive.
func (r *Release) get(p pinned) ([]byte, error) {
	name := filepath.Join(r.Debs, path.Base(p.Path))
	if data, err := os.ReadFile(name); err == nil && p.is(data) {
		return data, nil
	}
	address, err := url.JoinPath(r.Debian, p.Path)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: 5 * time.Minute}
	answer, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 256<<20))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s; what the archive has no more, snapshot.debian.org has: give -debian", address, answer.Status)
	case !p.is(data):
		return nil, fmt.Errorf("%s is not what is pinned: its SHA-256 is %x", address, sha256.Sum256(data))
	}
	if err := os.MkdirAll(r.Debs, 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(name, data, 0o644)
}

func (p pinned) is(data []byte) bool { return fmt.Sprintf("%x", sha256.Sum256(data)) == p.Sum }

// unpack is what a package installs. Nothing of it is run.
func unpack(deb []byte) (Tree, error) {
	archive := ar.NewReader(bytes.NewReader(deb))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no data in it")
		}
		if err != nil {
			return nil, err
		}
		var plain io.Reader
		switch strings.TrimSuffix(h.Name, "/") {
		case "data.tar.xz":
			plain, err = xz.NewReader(archive)
		case "data.tar.gz":
			plain, err = gzip.NewReader(archive)
		case "data.tar":
			plain = archive
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		return installed(tar.NewReader(plain))
	}
}

// installed are the files of a package that an image needs.
func installed(in *tar.Reader) (tree Tree, err error) {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err != nil {
			return nil, err
		}
		name := merged(path.Clean(strings.TrimPrefix(h.Name, "./")))
		if !filepath.IsLocal(name) || unwanted(name) {
			continue
		}
		f := File{Path: name, Mode: fs.FileMode(h.Mode) & fs.ModePerm}
		switch h.Typeflag {
		case tar.TypeReg:
			f.Data, err = io.ReadAll(in)
		case tar.TypeSymlink:
			f.Link = h.Linkname
		case tar.TypeLink:
			f.Link, f.Hard = merged(path.Clean(strings.TrimPrefix(h.Linkname, "./"))), true
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		tree = append(tree, f)
	}
}

// usr are the folders that Debian keeps below /usr, and links to from where they were.
var usr = []string{"bin", "lib", "lib64", "sbin"}

func merged(name string) string {
	if first, _, below := strings.Cut(name, "/"); below && slices.Contains(usr, first) {
		return "usr/" + name
	}
	return name
}

// unwanted is what nobody reads in an image; licences stay.
func unwanted(name string) bool {
	for _, dir := range []string{"usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/", "usr/share/bash-completion/", "usr/share/gitweb/", "etc/skel/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return strings.HasPrefix(name, "usr/share/doc/") && path.Base(name) != "copyright"
}

// system is what packages would make when they are installed: links, certificates in one file, who
// the user is.
func system(packages Tree) Tree {
	tree := slices.Clone(packages)
	for _, dir := range usr {
		if slices.ContainsFunc(packages, func(f File) bool { return strings.HasPrefix(f.Path, "usr/"+dir+"/") }) {
			tree = append(tree, File{Path: dir, Link: "usr/" + dir})
		}
	}
	var trusted bytes.Buffer
	for _, f := range packages {
		if strings.HasPrefix(f.Path, "usr/share/ca-certificates/mozilla/") {
			trusted.Write(f.Data)
		}
	}
	tree = append(tree,
		File{Path: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Data: trusted.Bytes()},
		File{Path: "etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/root:/bin/bash\nramet:x:65532:65532:ramet:/data:/bin/bash\n")},
		File{Path: "etc/group", Mode: 0o644, Data: []byte("root:x:0:\nramet:x:65532:\n")})
	tree.sort()
	return tree
}
