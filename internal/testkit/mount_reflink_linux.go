package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sharing make file systems whose files can share blocks.
var sharing = []string{"mkfs.xfs", "mkfs.btrfs"}

// MountMakesSharing is a program that makes a file system whose files can share blocks, where this
// process may also mount it; empty: there is none, for that reason.
func MountMakesSharing() (program, why string) {
	if os.Geteuid() != 0 {
		return "", "a disk in a file is mounted by root only"
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return "", "there are no loop devices"
	}
	for _, program := range sharing {
		if path, err := exec.LookPath(program); err == nil {
			return path, ""
		}
		if path := "/usr/sbin/" + program; exec.Command(path, "-V").Run() == nil {
			return path, ""
		}
	}
	return "", "neither mkfs.btrfs nor mkfs.xfs is installed"
}

// MountSharing mounts a new disk of that kind at dir, inside of Inside.
func MountSharing(t testing.TB, program, dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
