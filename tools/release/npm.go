package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
)

// npmArch and npmOS are npm's words for ours.
var (
	npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
	npmOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
)

// npmName is the package of a platform; it says where it can be installed, so npm takes
// just the right one of the optional dependencies, and nothing is downloaded by a script.
func npmName(platform string) string {
	goos, arch, _ := strings.Cut(platform, "/")
	return "ramet-" + npmOS[goos] + "-" + npmArch[arch]
}

func (r *Release) npmPlatform(made, platform string, tree Tree) error {
	goos, arch, _ := strings.Cut(platform, "/")
	about := r.npmAbout(npmName(platform))
	about["os"], about["cpu"] = []string{npmOS[goos]}, []string{npmArch[arch]}
	var content Tree
	for _, f := range tree {
		if f.Path == exe(platform) || strings.HasPrefix(f.Path, docs) {
			content = append(content, f)
		}
	}
	return r.npmPack(made, npmName(platform), about, content)
}

// npmMain is the package that people ask for: it starts the program of the platform.
func (r *Release) npmMain(made string) error {
	start, err := files.ReadFile("files/npm-start.js")
	if err != nil {
		return err
	}
	about, needs := r.npmAbout("ramet"), map[string]string{}
	for _, platform := range r.Platforms {
		needs[npmName(platform)] = r.Version
	}
	about["bin"] = map[string]string{"ramet": "start.js"}
	about["optionalDependencies"] = needs
	return r.npmPack(made, "ramet", about, Tree{{Path: "start.js", Mode: 0o755, Data: start}})
}

func (r *Release) npmAbout(name string) map[string]any {
	return map[string]any{"name": name, "version": r.Version, "description": "An operating environment for LLM agents",
		"license": "MIT", "homepage": r.Home}
}

func (r *Release) npmPack(made, name string, about map[string]any, content Tree) error {
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	content = append(content, File{Path: "package.json", Mode: 0o644, Data: append(text, '\n')})
	content.sort()
	return create(filepath.Join(made, name+"-"+r.Version+".tgz"), func(w io.Writer) error {
		return zipped(w, func(w io.Writer) error { return content.tar(w, "package", r.Stamp.Date) })
	})
}
