package probe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"ramet/internal/base/step"
	"ramet/internal/testkit"
)

// Steps are recorded before they are taken, with their number; those that are to fail do, and change nothing.
func TestStepsAreRecordedAndFail(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "steps")
	t.Setenv(Steps, record)
	t.Setenv(FailAt, "remove:2=EIO,wal/write:1+=ENOSPC")
	t.Cleanup(func() { step.Hook = nil })
	if !PointFromEnvironment() || os.Getenv(Steps) != "" {
		t.Fatal("the variables are not taken, or left to children")
	}
	for _, name := range []string{"a/b", "c"} {
		testkit.OK(t, step.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	if err := step.RemoveAll(filepath.Join(dir, "a")); !errors.Is(err, syscall.EIO) {
		t.Errorf("the second removal: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Errorf("a removal that failed removed it: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "b")); err == nil {
		t.Error("the first removal removed nothing")
	}
	if err := step.Remove(filepath.Join(dir, "c")); err != nil {
		t.Errorf("the third removal: %v", err)
	}
	for range 2 {
		if err := step.At("wal/write"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a full disk: %v", err)
		}
	}
	got, err := ReadPoints(record)
	want := []Point{{"other/mkdir", 1}, {"other/mkdir", 2}, {"other/mkdir", 3}, {"other/remove", 1}, {"other/remove", 2}, {"other/remove", 3},
		{"wal/write", 1}, {"wal/write", 2}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("recorded %v, %v", got, err)
	}
}

func TestWhatIsNoPointIsRefused(t *testing.T) {
	for _, text := range []string{"", "sync", "sync:", "sync:0", "sync:x", ":1"} {
		if p, err := ParsePoint(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
	c := &counter{}
	for _, text := range []string{"sync:1", "sync:1=EPERM", "sync=EIO"} {
		if c.fail(text) == nil {
			t.Errorf("%q fails something", text)
		}
	}
}
