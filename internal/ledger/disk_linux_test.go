package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
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

// failSteps lets the steps of an operation fail that fails selects by their number from 1 on, and returns a function that
// ends that and reports how many failed. Without an operation it counts all steps.
func failSteps(op string, errno error, fails func(n int) bool) (end func() int) {
	n, failed := 0, 0
	step.Hook = func(label string) error {
		if op != "" && label != op {
			return nil
		}
		if n++; !fails(n) {
			return nil
		}
		failed++
		return errno
	}
	return func() int {
		step.Hook = nil
		return failed
	}
}

// worked makes a ledger with a, which is completed, b, interrupted, and c, which the pointer names.
func worked(t *testing.T) *Folder {
	t.Helper()
	f := place(t)
	put(t, f, FileName, `{"version":"1.0","max_entries":50,"entries":[{"agent_id":"a","status":"completed"},{"agent_id":"b","status":"interrupted"},{"agent_id":"c","status":"spawned"}]}`)
	put(t, f, PointerName, "c")
	return f
}

const workedEntries = "a:completed b:interrupted c:spawned"

// whole demands that a ledger is as before a change or as after it, as after it if there was no error, and that the next
// change works and leaves no temporary file.
func whole(t *testing.T, what string, dir, before, after string, err error) {
	t.Helper()
	f := FolderAt(dir, FolderOptions{})
	if got := drawnFile(t, f); got != after && (got != before || err == nil) {
		t.Fatalf("%s, %v: it left %q, and neither %q nor %q", what, err, got, before, after)
	}
	begin(t, f, "next")
	points(t, f, "next")
	testkit.Must(f.Move(t.Context(), "next", Completed, ""))(t)
	if got := namesFile(t, f); !json.Valid([]byte(readLedger(t, f, FileName))) || strings.Contains(got, "."+FileName) {
		t.Fatalf("%s: the folder holds %s, and the ledger is %s", what, got, readLedger(t, f, FileName))
	}
}

// Whatever step fails, from there on as in a process that is killed, or alone, the ledger is whole.
func TestAStepThatFailsLeavesTheLedgerWhole(t *testing.T) {
	spawn := func(f *Folder) error { _, err := f.Spawn(t.Context(), Start{ID: "d", Type: "t"}); return err }
	for name, c := range map[string]struct {
		make          func(t *testing.T) *Folder
		change        func(f *Folder) error
		before, after string
	}{
		"spawn":    {worked, spawn, workedEntries, workedEntries + " d:spawned"},
		"complete": {worked, func(f *Folder) error { _, err := f.Move(t.Context(), "c", Completed, ""); return err }, workedEntries, "a:completed b:interrupted c:completed"},
		"resume":   {worked, func(f *Folder) error { _, err := f.Resume(t.Context(), "b", Start{ID: "d"}); return err }, workedEntries, "a:completed b:resumed c:spawned d:spawned"},
		"first":    {place, spawn, "", "d:spawned"},
		"recover": {func(t *testing.T) *Folder {
			f := place(t)
			put(t, f, FileName, `{"version":`)
			put(t, f, PointerName, "nobody")
			put(t, f, "summaries/1-SUMMARY.md", "---\nplan: 1\nstatus: completed\nexecuted_by_agent: x\n---\n")
			return f
		}, func(f *Folder) error { _, err := f.Recover(t.Context()); return err }, "x:completed", "x:completed"}, // reading recovers too
	} {
		for _, onward := range []bool{true, false} {
			for from := 1; ; from++ {
				f := c.make(t)
				end := failSteps("", syscall.EIO, func(n int) bool { return n == from || onward && n > from })
				err := c.change(f)
				failed := end()
				whole(t, fmt.Sprintf("%s, step %d, onward %t", name, from, onward), f.dir, c.before, c.after, err)
				if failed > 0 {
					continue
				}
				if err != nil || from < 5 {
					t.Errorf("%s has %d steps, %v", name, from-1, err)
				}
				break
			}
		}
	}
}

// A write that fails is tried three times.
func TestALedgerOnAFailingDiskTriesThreeTimes(t *testing.T) {
	for _, c := range []struct {
		op, fails string // numbers; the last may end with +: from there on
		errno     error
		code      fault.Code
	}{
		{"sync", "1", syscall.EIO, ""},
		{"sync", "1 2", syscall.EIO, ""},
		{"sync", "1 2 3", syscall.EIO, fault.StorageIO},
		{"rename", "1", syscall.EIO, ""},
		{"rename", "1+", syscall.EIO, fault.StorageIO},
		{"sync", "1+", syscall.ENOSPC, fault.StorageFull},
		{"write", "1+", syscall.ENOSPC, fault.StorageFull}, // not even the lock can be signed
		{"write", "2+", syscall.ENOSPC, fault.StorageFull},
		{"write", "2", syscall.EIO, ""},
		{"sync", "2 4 6", syscall.EIO, fault.StorageIO},
	} {
		f := worked(t)
		end := failSteps(c.op, c.errno, func(n int) bool {
			from, onward := strings.CutSuffix(c.fails, "+")
			return slices.Contains(strings.Fields(from), fmt.Sprint(n)) || onward && fmt.Sprint(n) > from
		})
		_, err := f.Move(t.Context(), "c", Completed, "")
		end()
		what := c.op + " " + c.fails
		if c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %v", what, err)
		}
		before := workedEntries
		if c.fails == "2 4 6" { // the syncs of the folder: the file has its name already
			before = "a:completed b:interrupted c:completed"
		}
		if got := drawnFile(t, f); err != nil && got != before {
			t.Errorf("%s: a refused change left %s", what, got)
		}
		whole(t, what, f.dir, before, "a:completed b:interrupted c:completed", err)
	}
}
