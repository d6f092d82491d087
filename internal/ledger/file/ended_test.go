package file

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/fault"
	"ramet/internal/ledger"
)

// An end that nobody waits for is written with the next change, at once if somebody asks, and
// soon by itself.
func TestEndsThatNobodyWaitsFor(t *testing.T) {
	f := place(t)
	f.leisure = time.Hour
	begin(t, f, "a", "b", "c")
	status := func(id string) ledger.Status {
		t.Helper()
		v, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e, err := v.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		return e.Status
	}
	done := make(chan error, 1)
	go func() { done <- f.Ended(t.Context(), "a", nil) }()
	waiters(f, 1)
	begin(t, f, "d")
	if got := status("a"); got != ledger.Completed {
		t.Errorf("with the next beginning: %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	hurry := make(chan struct{})
	close(hurry)
	if err := f.Ended(t.Context(), "b", hurry); err != nil || status("b") != ledger.Completed {
		t.Errorf("at once: %s, %v", status("b"), err)
	}
	f.leisure = time.Millisecond
	if err := f.Ended(t.Context(), "c", nil); err != nil || status("c") != ledger.Completed {
		t.Errorf("by itself: %s, %v", status("c"), err)
	}
	if err := f.Ended(t.Context(), "nobody", hurry); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// A pointer is written over the old one where that is the same file, of the same length, and
// nobody else's.
func TestThePointerStaysOneFile(t *testing.T) {
	f := place(t)
	path := filepath.Join(f.dir, ledger.PointerName)
	info := func() os.FileInfo {
		t.Helper()
		i, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	begin(t, f, "first")
	before := info()
	begin(t, f, "other")
	if got := read(t, f, ledger.PointerName); got != "other" || alone(before) != os.SameFile(before, info()) {
		t.Errorf("%q", got)
	}
	begin(t, f, "longer-one")
	if got := read(t, f, ledger.PointerName); got != "longer-one" {
		t.Errorf("%q", got)
	}
	if err := os.Link(path, filepath.Join(f.dir, "theirs")); err != nil {
		t.Skip(err)
	}
	begin(t, f, "another-id")
	if got, theirs := read(t, f, ledger.PointerName), read(t, f, "theirs"); got != "another-id" || theirs != "longer-one" {
		t.Errorf("%q, and what has another name too: %q", got, theirs)
	}
}
