package ndjson

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit/runtest"
)

// Whoever knows a position reads only what follows it: damage before is not met,
// damage behind is.
func TestTrust(t *testing.T) {
	drafts := runtest.LogDrafts(0, 2000) // several blocks
	all := runtest.LogLines(drafts...)
	lines := bytes.SplitAfter(all, []byte("\n"))
	hash := func(n int) string { return string(lines[n-1][15:79]) }
	damaged := bytes.Clone(all)
	damaged[100] ^= 1
	for _, n := range []int{1, 2, 1000, 1999, 2000} {
		path := put(t, damaged)
		if n == 1 {
			path = put(t, all)
		}
		w, err := OpenWriter(t.Context(), path, run.Position{Count: int64(n), Hash: hash(n)})
		if err != nil {
			t.Fatal(n, err)
		}
		if w.Count() != 2000 {
			t.Errorf("trusting %d: %d events", n, w.Count())
		}
		if _, err := w.Append(t.Context(), runtest.LogDraft(2000)); err != nil {
			t.Error(err)
		}
		seen := int64(n)
		for e, err := range w.Events(t.Context(), int64(n)) {
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if e.Line != seen || e.ID != runtest.LogDraft(int(seen-1)).ID {
				t.Fatalf("event %d is %d, %s", seen, e.Line, e.ID)
			}
		}
		if seen != 2001 {
			t.Errorf("%d events", seen)
		}
		w.Close()
	}
	path := put(t, damaged)
	if _, err := OpenWriter(t.Context(), path); !fault.Is(err, fault.EventChainBroken) {
		t.Error(err)
	}
	if _, err := OpenWriter(t.Context(), path, run.Position{Count: 2001, Hash: strings.Repeat("0", 64)}); !fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), "2001") {
		t.Error(err)
	}
	damaged = bytes.Clone(all)
	damaged[len(all)-100] ^= 1
	if _, err := OpenWriter(t.Context(), put(t, damaged), run.Position{Count: 1000, Hash: hash(1000)}); !fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), "line 2000") {
		t.Error(err)
	}
	// A reader with a position, and one that asks for what is before it.
	path = put(t, all)
	l, err := Open(t.Context(), path, run.Position{Count: 1500, Hash: hash(1500)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, after := range []int64{0, 1, 1499, 1500, 1501, 2000} {
		n := after
		for _, err := range l.Events(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 2000 {
			t.Errorf("after %d: up to %d", after, n)
		}
	}
}

// Opening never makes an existing log shorter or newer, and the lock file is not
// part of it.
func TestOpeningChangesNothing(t *testing.T) {
	all := runtest.LogLines(runtest.LogDrafts(0, 3)...)
	path := put(t, all)
	before, _ := os.Stat(path)
	w, err := OpenWriter(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	after, _ := os.Stat(path)
	if now, _ := os.ReadFile(path); !bytes.Equal(now, all) || !before.ModTime().Equal(after.ModTime()) || !os.SameFile(before, after) {
		t.Error("the log was changed")
	}
}
