package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// build makes the program for a platform: static, without paths, symbols or what git says
// on the spot; version, commit and date are given.
func (r *Release) build(platform, work string) ([]byte, error) {
	exe, err := filepath.Abs(filepath.Join(work, "ramet"))
	if err != nil {
		return nil, err
	}
	vars := map[string]string{"version": r.Version, "commit": r.Stamp.Commit,
		"date": r.Stamp.Date.Format(time.RFC3339), "modified": strconv.FormatBool(r.Stamp.Modified)}
	flags := "-s -w -buildid="
	for _, name := range []string{"version", "commit", "date", "modified"} {
		flags += " -X " + r.module() + "/internal/app." + name + "=" + vars[name]
	}
	if _, err := r.goTool(platform, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", exe, r.main()); err != nil {
		return nil, err
	}
	return os.ReadFile(exe)
}

func (r *Release) main() string {
	if r.Main != "" {
		return r.Main
	}
	return "./cmd/ramet"
}

// module is the path of the source's module, which may have been renamed.
func (r *Release) module() string {
	text, err := os.ReadFile(filepath.Join(r.Source, "go.mod"))
	if err != nil {
		return "ramet" // the build will say what is wrong
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, "module "))
}

// goTool runs the go command in the source for a platform.
func (r *Release) goTool(platform string, args ...string) ([]byte, error) {
	goos, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no platform; it looks like linux/amd64", platform)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = r.Source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch, "GOFLAGS=-mod=readonly",
		"GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, said.String())
	}
	return out, nil
}
