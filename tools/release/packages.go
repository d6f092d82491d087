package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	contents "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes those of Debian, Red Hat and Alpine: the tree under /usr.
func (r *Release) packages(made, work, platform string, tree Tree) error {
	_, arch, _ := strings.Cut(platform, "/")
	staged := filepath.Join(work, "staged-"+arch)
	if err := tree.write(staged); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.info(arch, staged, tree))
		if format == "apk" { // its descriptions are one line, and what follows would be names and values
			info.Description, _, _ = strings.Cut(info.Description, "\n")
			info.Prerelease = apkSuffix(info.Prerelease)
		}
		name := filepath.Join(made, filepath.Base(packager.ConventionalFileName(info)))
		if err := create(name, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return os.RemoveAll(staged)
}

// apkSuffix is a pre-release as Alpine orders them: one of four words and a number. Any other word
// is before all of them.
func apkSuffix(prerelease string) string {
	if prerelease == "" {
		return ""
	}
	word, number, _ := strings.Cut(prerelease, ".")
	if !slices.Contains([]string{"alpha", "beta", "pre", "rc"}, word) {
		return "alpha"
	}
	if _, err := strconv.ParseUint(number, 10, 32); err != nil {
		return word
	}
	return word + number
}

func (r *Release) info(arch, staged string, tree Tree) *nfpm.Info {
	info := &nfpm.Info{Name: "ramet", Arch: arch, Platform: "linux", Version: r.Version, Section: "devel", Priority: "optional",
		Maintainer: "the ramet authors <ramet@example.com>", Homepage: r.Home, License: "MIT", MTime: r.Stamp.Date,
		Description:     "An operating environment for LLM agents\nAgents are durable processes: they fork, mail each other, are killed with\ntheir subtree and come back after a crash.",
		DisableGlobbing: true}
	info.Recommends = []string{"git"}
	info.RPM.BuildHost = "ramet" // else the name of this machine
	info.RPM.Summary = "An operating environment for LLM agents"
	for _, f := range tree {
		info.Contents = append(info.Contents, &contents.Content{
			Source: filepath.Join(staged, filepath.FromSlash(f.Path)), Destination: "/usr/" + f.Path,
			FileInfo: &contents.ContentFileInfo{Owner: "root", Group: "root", Mode: f.Mode, MTime: r.Stamp.Date},
		})
	}
	return info
}
