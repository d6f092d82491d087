package file

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/ledger"
	"ramet/internal/mounttest"
)

func TestAFullDiskLosesNothingAndGoesOn(t *testing.T) {
	mounttest.Inside(t, func() {
		f := At(t.TempDir(), Options{})
		mounttest.Small(t, f.dir, "96k")
		begin(t, f, "a")
		fill := filepath.Join(f.dir, "filler")
		if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); err == nil {
			t.Fatal("the disk is not small")
		}
		before := read(t, f, ledger.FileName)
		_, err := f.Spawn(t.Context(), ledger.Start{ID: "b", Description: strings.Repeat("x", 20_000)})
		refused(t, err, fault.StorageFull)
		_, err = f.Finish(t.Context(), "a", ledger.Completed, "")
		refused(t, err, fault.StorageFull)
		if got := read(t, f, ledger.FileName); got != before {
			t.Errorf("%s", got)
		}
		points(t, f, "a")
		draws(t, f, "a:spawned")
		if err := os.Remove(fill); err != nil {
			t.Fatal(err)
		}
		begin(t, f, "c")
		draws(t, f, "a:spawned c:spawned")
		if got := names(t, f); got != ledger.FileName+" "+ledger.PointerName {
			t.Errorf("the folder holds %s", got)
		}
	})
}

func TestAFolderThatCannotBeWrittenCanBeRead(t *testing.T) {
	mounttest.Inside(t, func() {
		f := At(t.TempDir(), Options{})
		mounttest.Small(t, f.dir, "1m")
		begin(t, f, "a", "b")
		put(t, f, ledger.PointerName, "nobody")
		if err := syscall.Mount("", f.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		draws(t, f, "a:spawned b:spawned")
		v, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := v.Active(v.Named); !ok || e.ID != "b" { // answered, though not repaired
			t.Errorf("%+v", e)
		}
		points(t, f, "nobody")
		_, err = f.Spawn(t.Context(), ledger.Start{ID: "c"})
		refused(t, err, fault.StorageReadOnly)
		_, err = f.Finish(t.Context(), "a", ledger.Completed, "")
		refused(t, err, fault.StorageReadOnly)
		_, err = f.Recover(t.Context())
		refused(t, err, fault.StorageReadOnly)
	})
}
