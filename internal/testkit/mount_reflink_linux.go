package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sharing make file systems whose files can share blocks.
var sharing = []string{"mkfs.xfs", "mkfs.btrfs"}

// FindSharing returns a program that makes a file system whose files can share blocks. It skips the test if there is
// none, or this process cannot mount a disk in a file.
func FindSharing(t testing.TB) (program string) {
	t.Helper()
	RootOnly(t)
	if _, err := os.Stat("/dev/loop-control"); err == nil {
		for _, program := range sharing {
			for _, name := range []string{program, "/usr/sbin/" + program} {
				if path, err := exec.LookPath(name); err == nil {
					return path
				}
			}
		}
	}
	t.Skip("mkfs.btrfs and mkfs.xfs are missing, or there are no loop devices")
	return ""
}

// MountSharing mounts a new disk of that kind at dir, inside of Inside.
func MountSharing(t testing.TB, program, dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	OK(t, os.WriteFile(image, nil, 0o600))
	if err := os.Truncate(image, 400<<20); err != nil { // it takes what is written only
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "-q", image).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("a disk in a file cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
}
