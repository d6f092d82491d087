package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The package of Debian is installed into an empty root, upgraded and removed, by dpkg; nothing of
// it stays.
func TestTheDebIsInstalledUpgradedAndRemoved(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil || os.Geteuid() != 0 {
		t.Skip("dpkg installs as root only, and where it is")
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		t.Helper()
		cmd := exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-architecture"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("dpkg %v: %v\n%s", args, err, out)
		}
	}
	for _, version := range []string{"1.2.3-rc.1", "1.2.3"} {
		r := &Release{Version: version, Home: "https://example.com/ramet", Stamp: Stamp{Commit: "abc", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
		made := t.TempDir()
		tree := Tree{{Path: "bin/ramet", Mode: 0o755, Data: []byte("#!/bin/sh\necho " + version + "\n")}, {Path: pages + "ramet.1", Mode: 0o644, Data: []byte(".TH ramet 1\n")}}
		if version != "1.2.3" {
			tree = append(tree, File{Path: docs + "old", Mode: 0o644, Data: []byte("of the older one\n")})
		}
		tree.sort()
		if err := r.packages(made, t.TempDir(), "linux/amd64", tree); err != nil {
			t.Fatal(err)
		}
		debs, err := filepath.Glob(filepath.Join(made, "*.deb"))
		if err != nil || len(debs) != 1 {
			t.Fatal(debs, err)
		}
		dpkg("-i", debs[0])
		said, err := exec.Command(filepath.Join(root, "usr/bin/ramet")).Output()
		if err != nil || strings.TrimSpace(string(said)) != version {
			t.Errorf("version %s says %q, %v", version, said, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "usr", docs, "old")); !os.IsNotExist(err) {
		t.Errorf("what the newer one does not have is still there: %v", err)
	}
	dpkg("--purge", "ramet")
	if left, err := os.ReadDir(filepath.Join(root, "usr")); err == nil && len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
