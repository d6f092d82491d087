package testkit

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// inside marks a process that may mount.
const inside = "RAMET_TEST_MAY_MOUNT"

// MountInside runs the test that calls it once more in a mount namespace of its own, as
// root or in a user namespace, and there calls do. Outside it returns when that
// test has ended.
func MountInside(t *testing.T, do func()) {
	t.Helper()
	if os.Getenv(inside) != "" {
		OK(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		do()
		return
	}
	exe, err := os.Executable()
	OK(t, err)
	for _, flags := range []uintptr{syscall.CLONE_NEWNS, syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
		out, ran := cmd.CombinedOutput()
		if cmd.Process == nil {
			err = ran // not allowed; the other way may be
			continue
		}
		if ran != nil {
			t.Fatalf("%v\n%s", ran, out)
		}
		return
	}
	t.Fatalf("a disk of our own needs root, or user namespaces: %v", err)
}

// MountSmall mounts an empty disk of that size ("128k") at dir, which must exist, and
// takes it away at the end of the test.
func MountSmall(t testing.TB, dir, size string) {
	t.Helper()
	OK(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size))
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
}
