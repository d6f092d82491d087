package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAFullDiskLosesNothingAndGoesOn(t *testing.T) {
	testkit.MountInside(t, func() {
		f := FolderAt(t.TempDir(), FolderOptions{})
		testkit.MountSmall(t, f.dir, "96k")
		begin(t, f, "a")
		fill := filepath.Join(f.dir, "filler")
		if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); err == nil {
			t.Fatal("the disk is not small")
		}
		before := readLedger(t, f, FileName)
		_, err := f.Spawn(t.Context(), Start{ID: "b", Description: strings.Repeat("x", 20_000)})
		refusedFile(t, err, fault.StorageFull)
		_, err = f.Move(t.Context(), "a", Completed, "")
		refusedFile(t, err, fault.StorageFull)
		if got := readLedger(t, f, FileName); got != before {
			t.Errorf("%s", got)
		}
		points(t, f, "a")
		drawsFile(t, f, "a:spawned")
		testkit.OK(t, os.Remove(fill))
		begin(t, f, "c")
		drawsFile(t, f, "a:spawned c:spawned")
		if got := namesFile(t, f); got != FileName+" "+PointerName {
			t.Errorf("the folder holds %s", got)
		}
	})
}

func TestAFolderThatCannotBeWrittenCanBeRead(t *testing.T) {
	testkit.MountInside(t, func() {
		f := FolderAt(t.TempDir(), FolderOptions{})
		testkit.MountSmall(t, f.dir, "1m")
		begin(t, f, "a", "b")
		put(t, f, PointerName, "nobody")
		testkit.OK(t, syscall.Mount("", f.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		drawsFile(t, f, "a:spawned b:spawned")
		v, err := f.Read(t.Context())
		testkit.OK(t, err)
		if e, ok := v.Active(v.Named); !ok || e.ID != "b" { // answered, though not repaired
			t.Errorf("%+v", e)
		}
		points(t, f, "nobody")
		_, err = f.Spawn(t.Context(), Start{ID: "c"})
		refusedFile(t, err, fault.StorageReadOnly)
		_, err = f.Move(t.Context(), "a", Completed, "")
		refusedFile(t, err, fault.StorageReadOnly)
		_, err = f.Recover(t.Context())
		refusedFile(t, err, fault.StorageReadOnly)
	})
}
