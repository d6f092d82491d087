package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

func TestOnlyAbandonedFoldersAreRemoved(t *testing.T) {
	parent, outside := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", parent)
	living := testkit.Must(newTemp("", "tmp", "shm"))(t)
	defer living.remove()
	make := func(name string, age time.Duration, files ...string) {
		t.Helper()
		dir := filepath.Join(parent, name)
		for _, f := range append(files, "tmp/file") {
			f = filepath.Join(dir, f)
			testkit.OK(t, os.MkdirAll(filepath.Dir(f), 0o700))
			testkit.OK(t, os.WriteFile(f, nil, 0o600))
		}
		testkit.OK(t, os.Chtimes(dir, time.Now().Add(-age), time.Now().Add(-age)))
	}
	link := func(to, name string) {
		t.Helper()
		testkit.OK(t, os.Symlink(to, filepath.Join(parent, name)))
	}
	make("ramet-box-1", 0, "lock", "tmp/shut/inner/file") // of a ramet that is dead
	testkit.OK(t, os.Chmod(filepath.Join(parent, "ramet-box-1/tmp/shut"), 0))
	link(outside, "ramet-box-1/tmp/way-out")
	make("ramet-box-2", 0)            // of an older one, which may live
	make("ramet-box-3", 25*time.Hour) // which does not
	make("ramet-other-4", 25*time.Hour, "lock")
	make("../"+filepath.Base(outside)+"/box", 25*time.Hour, "lock")
	link(filepath.Join(outside, "box"), "ramet-box-5")
	make("ramet-box-6", 25*time.Hour) // its lock is not its own
	link(filepath.Join(outside, "box", "lock"), "ramet-box-6/lock")
	testkit.OK(t, syscall.Mkfifo(filepath.Join(parent, "ramet-box-7"), 0o600))
	want := []string{filepath.Base(living.dir), "ramet-box-2", "ramet-box-5", "ramet-box-6", "ramet-box-7", "ramet-other-4"}
	if os.Geteuid() == 0 { // who else could give a folder away
		make("ramet-box-8", 25*time.Hour, "lock")
		testkit.OK(t, os.Chown(filepath.Join(parent, "ramet-box-8"), 65534, 65534))
		want = append(want, "ramet-box-8")
	}
	removeAbandoned(parent)
	var left []string
	entries := testkit.Must(os.ReadDir(parent))(t)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left  %q\nwant %q", left, want)
	}
	if _, err := os.Stat(filepath.Join(outside, "box", "tmp", "file")); err != nil {
		t.Error("it went through a link:", err)
	}
	if _, err := os.Stat(filepath.Join(living.dir, "tmp")); err != nil {
		t.Error("it took from the living:", err)
	}
	for _, what := range []string{"of a living process", "young and without a lock", "with another name", "a link", "with a link as its lock", "a pipe", "of another account"}[:len(want)] {
		testkit.Attack(t, "leftovers", what)
	}
}

// A ramet that is killed together with its helper leaves its folder; the next one
// removes it.
func TestTheNextRametCleansUp(t *testing.T) {
	temp, work := t.TempDir(), t.TempDir()
	begin := func() (*exec.Cmd, *screen) {
		ramet := exec.Command("/proc/self/exe", "box", "TREE="+newMark(), work)
		ramet.Env = append(os.Environ(), role+"=ramet", "TMPDIR="+temp)
		out := newScreen()
		ramet.Stdout, ramet.Stderr = out, out
		testkit.OK(t, ramet.Start())
		t.Cleanup(func() { ramet.Process.Kill(); ramet.Wait() })
		out.await(t, "ready")
		return ramet, out
	}
	there := func() []string {
		names := testkit.Must(filepath.Glob(filepath.Join(temp, tempPrefix+"*")))(t)
		return names
	}
	first, _ := begin()
	first.Process.Signal(syscall.SIGSTOP) // it must not see its helper die
	eventually(t, "it is stopped", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", first.Process.Pid))
		return bytes.Contains(stat, []byte(") T "))
	})
	helpers := childrenOf(first.Process.Pid)
	for _, pid := range helpers {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	first.Process.Kill()
	first.Wait()
	left := there()
	if len(helpers) != 1 || len(left) != 1 {
		t.Fatalf("helpers: %v, left: %q", helpers, left)
	}
	begin()
	eventually(t, "the folder of the dead is gone", func() bool {
		now := there()
		return len(now) == 1 && now[0] != left[0]
	})
}

// childrenOf are the children of a process, whichever of its threads started them.
func childrenOf(pid int) []int {
	var out []int
	for _, p := range listProcesses() {
		if parent, ok := parentOf(p); ok && parent == pid {
			out = append(out, p)
		}
	}
	return out
}
