package ndjson

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/run/logtest"
)

// inside says that this process may mount what it likes.
const inside = "RAMET_TEST_MAY_MOUNT"

// A full disk is a small one, mounted where nobody else sees it: the test runs
// itself again in a mount namespace of its own.
func TestSmallDisk(t *testing.T) {
	if os.Getenv(inside) != "" {
		fullDisk(t)
		readOnlyDisk(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []uintptr{syscall.CLONE_NEWNS, syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestSmallDisk$", "-test.v")
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
	t.Fatalf("a small disk needs root, or user namespaces: %v", err)
}

func mount(t *testing.T) string {
	dir := t.TempDir()
	for _, err := range []error{
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	return dir
}

// On a full disk events are refused, none is lost, and when there is space again
// they go on.
func fullDisk(t *testing.T) {
	dir := mount(t)
	path := filepath.Join(dir, "events.ndjson")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 40<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := OpenWriter(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var kept []run.Draft
	full := 0
	for n := 0; full < 3; n++ {
		d := logtest.Long(n, 3000)
		if _, err := w.Append(t.Context(), d); err == nil {
			kept = append(kept, d)
		} else if !fault.Is(err, fault.StorageFull) {
			t.Fatal(err)
		} else {
			full++
		}
	}
	if got := logtest.Export(t, w); len(kept) < 10 || !bytes.Equal(got, logtest.Lines(kept...)) {
		t.Fatalf("%d events kept, the log holds something else", len(kept))
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, logtest.Lines(kept...)) {
		t.Fatalf("a reader: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	d := logtest.Draft(100000)
	if _, err := w.Append(t.Context(), d); err != nil {
		t.Fatalf("there is space again: %v", err)
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, logtest.Lines(append(kept, d)...)) {
		t.Fatalf("a reader: %v", err)
	}
}

func readOnlyDisk(t *testing.T) {
	dir := mount(t)
	path := filepath.Join(dir, "events.ndjson")
	lines := logtest.Lines(logtest.Drafts(0, 3)...)
	if err := os.WriteFile(path, lines, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=128k"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-new"} {
		if _, err := OpenWriter(t.Context(), name); !fault.Is(err, fault.StorageReadOnly) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, lines) {
		t.Errorf("reading is still possible: %v", err)
	}
}
