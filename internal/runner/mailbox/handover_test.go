package mailbox_test

import (
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/runner/mailbox"
	"ramet/internal/testkit"
)

// A run is left to one heir, and its orchestrator is refused from then on.
func TestARunHasOneHeir(t *testing.T) {
	mailbox.Hasten(t, 20*time.Millisecond, 20*time.Millisecond, time.Minute)
	address := place(t)
	boss, heir, other := open(t, address), open(t, address), open(t, address)
	ended := make(chan error, 1)
	go func() { ended <- mailbox.ServeRun(t.Context(), boss, runID, 1, newDesk()) }()
	if _, err := heir.Claim(t.Context(), item, "h"); err != nil { // it is there
		t.Fatal(err)
	}
	lost := func() { query(t, address, `UPDATE desks SET seen_at = seen_at - interval '1 hour'`) }
	if runs, err := heir.OrphanedRuns(t.Context(), time.Minute); err != nil || len(runs) != 0 {
		t.Errorf("there is an orchestrator: %v %v", runs, err)
	}
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("first")))
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("last")))
	// Whoever looks first has it: the orchestrator may show itself again in between.
	for took := false; !took; {
		lost()
		testkit.Must(heir.OrphanedRuns(t.Context(), time.Minute))(t)
		will, ok, err := heir.ClaimHandover(t.Context(), runID, time.Minute)
		if err != nil || ok && string(will) != "last" {
			t.Fatalf("%q %v", will, err)
		}
		took = ok
	}
	if _, ok, err := other.ClaimHandover(t.Context(), runID, time.Minute); ok || err != nil {
		t.Errorf("a second heir: %v %v", ok, err)
	}
	if err := <-ended; !fault.Is(err, fault.Fenced) {
		t.Errorf("the orchestrator: %v", err)
	}
	heir.Release(t.Context(), runID)
	if _, ok, err := other.ClaimHandover(t.Context(), runID, time.Minute); !ok || err != nil {
		t.Errorf("what was offered: %v %v", ok, err)
	}
}

// Who says that it leaves has no heir.
func TestWhoLeavesHasNoHeir(t *testing.T) {
	address := place(t)
	boss := open(t, address)
	end := serve(t, boss, 1, newDesk())
	testkit.Must(boss.Claim(t.Context(), item, "h"))(t)
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("will")))
	testkit.OK(t, end())
	if _, ok, err := boss.ClaimHandover(t.Context(), runID, time.Minute); ok || err != nil {
		t.Errorf("it has one: %v %v", ok, err)
	}
}

func TestFilesAreHandedOver(t *testing.T) {
	address := place(t)
	boss := open(t, address)
	for path, data := range map[string]string{"a/x": "old", "a/y": "same", "z": ""} {
		testkit.OK(t, boss.PutFile(t.Context(), runID, path, []byte(data)))
	}
	testkit.OK(t, boss.PutFile(t.Context(), runID, "a/x", []byte("new")))
	got := map[string]string{}
	fetch := func() (int, error) {
		return boss.Files(t.Context(), runID, func(path string) (string, bool) {
			const same = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5" // sha256 of "same"
			return same, path == "a/y"
		}, func(path string, data []byte) error { got[path] = string(data); return nil })
	}
	if n, err := fetch(); err != nil || n != 2 || got["a/x"] != "new" || got["a/y"] != "" {
		t.Errorf("%d %v %q", n, err, got)
	}
	query(t, address, `UPDATE files SET data = 'changed' WHERE path = 'z'`)
	if _, err := fetch(); !fault.Is(err, fault.StorageCorrupt) {
		t.Errorf("a changed copy: %v", err)
	}
	testkit.OK(t, boss.ClearButFiles(t.Context(), runID))
	if n := query(t, address, `SELECT count(*) FROM files`)[0][0]; n != int64(3) {
		t.Errorf("%v files are left", n)
	}
	testkit.OK(t, boss.Clear(t.Context(), runID))
	if n := query(t, address, `SELECT count(*) FROM files`)[0][0]; n != int64(0) {
		t.Errorf("%v files are left", n)
	}
}
