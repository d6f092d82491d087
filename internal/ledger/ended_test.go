package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/base/fault"
)

// An end that nobody waits for is written with the next change, at once if somebody asks, and
// soon by itself.
func TestEndsThatNobodyWaitsFor(t *testing.T) {
	f := place(t)
	f.leisure = time.Hour
	begin(t, f, "a", "b", "c")
	status := func(id string) Status {
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
	if got := status("a"); got != Completed {
		t.Errorf("with the next beginning: %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	hurry := make(chan struct{})
	close(hurry)
	if err := f.Ended(t.Context(), "b", hurry); err != nil || status("b") != Completed {
		t.Errorf("at once: %s, %v", status("b"), err)
	}
	f.leisure = time.Millisecond
	if err := f.Ended(t.Context(), "c", nil); err != nil || status("c") != Completed {
		t.Errorf("by itself: %s, %v", status("c"), err)
	}
	if err := f.Ended(t.Context(), "nobody", hurry); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// A new pointer is a new file: a hard link to the old one keeps its content.
func TestThePointerIsReplaced(t *testing.T) {
	f := place(t)
	path := filepath.Join(f.dir, PointerName)
	begin(t, f, "first")
	begin(t, f, "longer-one")
	if got := readLedger(t, f, PointerName); got != "longer-one" {
		t.Errorf("%q", got)
	}
	if err := os.Link(path, filepath.Join(f.dir, "theirs")); err != nil {
		t.Skip(err)
	}
	begin(t, f, "another-id")
	if got, theirs := readLedger(t, f, PointerName), readLedger(t, f, "theirs"); got != "another-id" || theirs != "longer-one" {
		t.Errorf("%q, and what has another name too: %q", got, theirs)
	}
}
