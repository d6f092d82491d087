package ledger

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// waiters waits until so many changes wait, the one included whose turn it is.
func waiters(f *Folder, n int) {
	for {
		f.mu.Lock()
		now := len(f.waiting)
		f.mu.Unlock()
		if now == n {
			return
		}
		runtime.Gosched()
	}
}

// Whoever waits for the lock in vain does so alone; those behind it are served.
func TestChangesThatWaitTogether(t *testing.T) {
	f := FolderAt(t.TempDir(), FolderOptions{})
	begin(t, f, "first")
	held, err := durable.TryLock(f.path() + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spawn := func(ctx context.Context, id string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := f.Spawn(ctx, Start{ID: id, Description: id})
			done <- err
		}()
		return done
	}
	leader := spawn(ctx, "leader")
	for len(f.turn) == 0 { // it has the turn, and waits for the lock
		runtime.Gosched()
	}
	waiters(f, 0)
	gone := spawn(ctx, "gone")
	var others []chan error
	for i := range 20 {
		others = append(others, spawn(t.Context(), fmt.Sprint("a", i)))
	}
	taken := spawn(t.Context(), "first") // it lives
	waiters(f, 22)
	cancel()
	for _, c := range []chan error{leader, gone} {
		if err := <-c; !fault.Is(err, fault.Cancelled) {
			t.Errorf("%v", err)
		}
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, c := range others {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if err := <-taken; !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	v, err := f.Read(t.Context())
	if err != nil || len(v.Entries()) != 21 {
		t.Fatalf("%d entries, %v", len(v.Entries()), err)
	}
}

// The pointer is where it would be if each change had been made alone.
func TestThePointerAfterChangesThatWereMadeTogether(t *testing.T) {
	spawn := func(id string) *pendingChange {
		return &pendingChange{do: func(s *Sheet) (string, error) {
			e, err := s.Spawn(Start{ID: id, Description: "x"}, time.Unix(1, 0))
			return e.ID, err
		}}
	}
	end := func(id string) *pendingChange {
		return &pendingChange{do: func(s *Sheet) (string, error) {
			_, err := s.Move(id, Completed, "", time.Unix(2, 0))
			return "", err
		}}
	}
	for name, steps := range map[string][]*pendingChange{
		"begins and ends":        {spawn("a"), end("a")},
		"another ends":           {spawn("a"), end("stays")},
		"the last that begins":   {spawn("a"), spawn("b"), end("a")},
		"all end":                {spawn("a"), end("a"), end("stays")},
		"it ends, one begins":    {end("stays"), spawn("a")},
		"what is refused, too":   {spawn("a"), spawn("a"), end("nobody")},
		"nothing but what fails": {end("nobody"), spawn("stays")},
	} {
		together, alone := FolderAt(t.TempDir(), FolderOptions{}), FolderAt(t.TempDir(), FolderOptions{})
		begin(t, together, "stays")
		begin(t, alone, "stays")
		if _, err := together.applyAll(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if _, err := alone.applyAll(t.Context(), []*pendingChange{s}); err != nil {
				t.Fatal(err)
			}
		}
		one, err := together.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		two, err := alone.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if one.Named != two.Named || one.Len() != two.Len() {
			t.Errorf("%s: together %q of %d, one after the other %q of %d", name, one.Named, one.Len(), two.Named, two.Len())
		}
	}
}
