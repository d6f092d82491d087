package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// everywhere is what a release is built for (docs/platforms.md says why not for more).
var everywhere = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// Release is one release: what it is made from and where it goes.
type Release struct {
	Source    string
	Out       string
	Version   string
	Stamp     Stamp
	KeyFile   string // empty: the checksums are not signed
	Home      string // of the project, in the metadata of packages
	Platforms []string
	Main      string   // the package to build; empty: ./cmd/ramet
	Debian    string   // the archive of Debian, for the image with git; empty: there is none
	Debs      string   // where its packages lie once they were fetched
	Pinned    []pinned // which packages; nil: those of files/debian.txt
}

// Make builds everything into a folder beside Out, and gives it its name at the end.
func (r *Release) Make() (err error) {
	if _, err := os.Lstat(r.Out); err == nil {
		return fmt.Errorf("%s is there already", r.Out)
	}
	if err := os.MkdirAll(filepath.Dir(r.Out), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(r.Out), ".release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	if err := r.fill(made, work); err != nil {
		return err
	}
	return os.Rename(made, r.Out)
}

func (r *Release) fill(made, work string) error {
	shared, err := r.shared()
	if err != nil {
		return err
	}
	page, licences, err := r.page()
	if err != nil {
		return err
	}
	shared = append(shared, licences...)
	var linked []module
	for _, platform := range r.Platforms {
		fmt.Println("build", platform)
		tree, modules, err := r.tree(platform, shared, work)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		linked = append(linked, modules...)
		if err := r.wrap(made, work, platform, tree); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := r.bill(made, linked, page); err != nil {
		return err
	}
	if err := r.npmMain(made); err != nil {
		return err
	}
	if err := r.formula(made); err != nil {
		return err
	}
	return r.checksums(made)
}

// tree is what is installed on a platform, under a prefix like /usr.
func (r *Release) tree(platform string, shared Tree, work string) (Tree, []module, error) {
	program, err := r.build(platform, work)
	if err != nil {
		return nil, nil, err
	}
	modules, err := r.linked(platform)
	if err != nil {
		return nil, nil, err
	}
	tree := slices.Concat(shared, Tree{{Path: exe(platform), Mode: 0o755, Data: program}})
	for _, m := range modules {
		texts, err := m.licences()
		if err != nil {
			return nil, nil, err
		}
		tree = append(tree, texts...)
	}
	if strings.HasPrefix(platform, "linux/") {
		units, err := units()
		if err != nil {
			return nil, nil, err
		}
		tree = append(tree, units...)
	}
	tree.sort()
	return tree, modules, nil
}

// wrap makes everything that carries the program of one platform.
func (r *Release) wrap(made, work, platform string, tree Tree) error {
	if err := r.archive(made, platform, tree); err != nil {
		return err
	}
	if err := r.npmPlatform(made, platform, tree); err != nil {
		return err
	}
	if !strings.HasPrefix(platform, "linux/") {
		return nil
	}
	if err := r.packages(made, work, platform, tree); err != nil {
		return err
	}
	return r.images(made, platform, tree)
}

// exe is where the program lies in a tree.
func exe(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "bin/ramet.exe"
	}
	return "bin/ramet"
}

// name is the beginning of the files of a platform.
func (r *Release) name(platform string) string {
	return "ramet-" + r.Version + "-" + strings.ReplaceAll(platform, "/", "-")
}
