package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestARefusalNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	p := hold(t, path)
	past, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	_, tried := TryLock(path)
	_, waited := Lock(past, path)
	for _, err := range []error{tried, waited} {
		if !fault.Is(err, fault.Locked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", p.Process.Pid)) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("refusal: %v", err)
		}
	}
	if !errors.Is(waited, context.DeadlineExceeded) {
		t.Errorf("the passed deadline is lost: %v", waited)
	}
}

func TestAKilledHolderFreesTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	p := hold(t, path)
	testkit.OK(t, p.Process.Kill())
	p.Wait()
	if o, ok := ownerOf(path); !ok || o.PID != p.Process.Pid {
		t.Fatalf("the killed holder did not leave its line: %v", o)
	}
	h := testkit.Must(TryLock(path))(t)
	if o, _ := ownerOf(path); o.PID != os.Getpid() {
		t.Errorf("owner %v is not this process", o)
	}
	for range 2 {
		testkit.OK(t, h.Unlock())
	}
	if o, ok := ownerOf(path); ok {
		t.Errorf("%v still signs a lock that is free", o)
	}
}

// A child of the killed holder that has not begun its own program yet has the lock a
// moment longer.
func TestALockIsTakenFromTheChildOfAKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	p := start(t, "bequeath", path)
	if said := p.says(); said != "held" {
		t.Fatal(said)
	}
	p.Process.Wait()
	if _, err := TryLock(path); !fault.Is(err, fault.Locked) {
		t.Fatal("the child does not hold it:", err)
	}
	taken := make(chan error)
	go func() { taken <- second(TryLock(path)) }()
	p.stdin.Close() // the child ends
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
}

func TestLockWaitsForTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	p := hold(t, path)
	taken := make(chan error)
	go func() {
		h, err := Lock(t.Context(), path)
		if err == nil {
			err = h.Unlock()
		}
		taken <- err
	}()
	p.stdin.Close() // the holder unlocks
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
}

func TestAWaitCanBeCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	hold(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- second(Lock(ctx, path)) }()
	cancel()
	if err := <-ended; !fault.Is(err, fault.Cancelled) {
		t.Errorf("got %v", err)
	}
}

func TestAFreeLockNeedsNoTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "lock")
	h := testkit.Must(Lock(ctx, path))(t)
	defer h.Unlock()
	if _, err := TryLock(path); !fault.Is(err, fault.Locked) {
		t.Errorf("one process took it twice: %v", err)
	}
}

func TestProcessesExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "count")
	testkit.OK(t, os.WriteFile(path, []byte("0"), 0o600))
	var all []*process
	for range 3 {
		all = append(all, start(t, "count", filepath.Join(dir, "lock"), path))
	}
	for _, p := range all {
		said := p.says()
		if err := p.Wait(); err != nil {
			t.Fatal(err, said)
		}
	}
	expect(t, path, "300")
}

// The owner's line is read by strangers at any moment, so nothing in it may
// break the refusal.
func TestAnOddOwnerLineIsNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	hold(t, path)
	for text, want := range map[string]string{
		"":                                      "another process",
		"{}\n":                                  "another process",
		`{"host":"a","pid":7`:                   "another process",
		"\x1b[2Jx\n":                            "another process",
		strings.Repeat("x", 10000):              "another process",
		"{\"host\":\"\\u001b[2J\",\"pid\":7}\n": `process 7 on "\x1b[2J"`,
	} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := TryLock(path)
		if !fault.Is(err, fault.Locked) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// hold starts a process that holds the lock.
func hold(t *testing.T, path string) *process {
	t.Helper()
	p := start(t, "hold", path)
	if said := p.says(); said != "held" {
		t.Fatalf("holder said %q", said)
	}
	return p
}
