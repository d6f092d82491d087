package ndjson

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// A full disk is a small one, mounted where nobody else sees it.
func TestSmallDisk(t *testing.T) {
	testkit.MountInside(t, func() {
		fullDisk(t)
		readOnlyDisk(t)
	})
}

func mount(t *testing.T) string {
	dir := t.TempDir()
	testkit.MountSmall(t, dir, "128k")
	return dir
}

// On a full disk events are refused, none is lost, and when there is space again
// they go on.
func fullDisk(t *testing.T) {
	dir := mount(t)
	path := filepath.Join(dir, "events.ndjson")
	ballast := filepath.Join(dir, "ballast")
	testkit.OK(t, os.WriteFile(ballast, make([]byte, 40<<10), 0o644))
	w := testkit.Must(OpenWriter(t.Context(), path))(t)
	defer w.Close()
	var kept []run.Draft
	full := 0
	for n := 0; full < 3; n++ {
		d := runtest.LongLog(n, 3000)
		if _, err := w.Append(t.Context(), d); err == nil {
			kept = append(kept, d)
		} else if !fault.Is(err, fault.StorageFull) {
			t.Fatal(err)
		} else {
			full++
		}
	}
	if got := runtest.ExportLog(t, w); len(kept) < 10 || !bytes.Equal(got, runtest.LogLines(kept...)) {
		t.Fatalf("%d events kept, the log holds something else", len(kept))
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, runtest.LogLines(kept...)) {
		t.Fatalf("a reader: %v", err)
	}
	testkit.OK(t, os.Remove(ballast))
	d := runtest.LogDraft(100000)
	if _, err := w.Append(t.Context(), d); err != nil {
		t.Fatalf("there is space again: %v", err)
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, runtest.LogLines(append(kept, d)...)) {
		t.Fatalf("a reader: %v", err)
	}
}

func readOnlyDisk(t *testing.T) {
	dir := mount(t)
	path := filepath.Join(dir, "events.ndjson")
	lines := runtest.LogLines(runtest.LogDrafts(0, 3)...)
	testkit.OK(t, os.WriteFile(path, lines, 0o644))
	testkit.OK(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=128k"))
	for _, name := range []string{path, path + "-new"} {
		if _, err := OpenWriter(t.Context(), name); !fault.Is(err, fault.StorageReadOnly) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := read(t, path); err != nil || !bytes.Equal(got, lines) {
		t.Errorf("reading is still possible: %v", err)
	}
}
